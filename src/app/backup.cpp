#include "app/backup.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/whole_file.hpp"
#include "files/archive_library.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabaseFile = "paceline.db";
constexpr std::string_view kMachineFile = "agent/machine";
constexpr std::size_t kAtOnce = 1 << 20;

bool is_packed(std::string_view name) { return name.ends_with(".gz") || name.ends_with(".tgz"); }

Result<void> check_name(std::string_view name) {
  if (name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz")) return {};
  return fail(ErrorCode::invalid, fmt::format("'{}' doesn't say what it is to be.", name),
              "Name it *.tar.gz, or *.tar to have it unpacked.");
}

// A file that goes when it is done with.
class Passing {
 public:
  explicit Passing(fs::path file) : file_(std::move(file)) { remove(); }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
  ~Passing() { remove(); }
  [[nodiscard]] const fs::path& file() const { return file_; }

 private:
  void remove() {
    std::error_code none;
    for (const auto* beside : {"", "-wal", "-shm", "-journal"})
      fs::remove(file_.string() + beside, none);
  }
  fs::path file_;
};

// A tar archive on its way into a stream, which tells what goes wrong there.
class Tar {
 public:
  Tar(const ArchiveLibrary& library, std::ostream& out, bool packed)
      : library_(library), archive_(library.archive_write_new(), Free{&library}) {
    library_.archive_write_set_format_pax_restricted(archive_.get());
    if (packed) library_.archive_write_add_filter_gzip(archive_.get());
    library_.archive_write_set_bytes_in_last_block(archive_.get(), 1);
    (void)library_.archive_write_open2(archive_.get(), &out, nullptr, &Tar::write, nullptr,
                                       nullptr);
  }

  // Errors: storage: it can't be read.
  Result<void> add(const fs::path& file, const std::string& name) {
    std::ifstream in(file, std::ios::binary);
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    if (!in || failed) return cannot_read(file);
    begin(name, AE_IFREG, 0600, static_cast<std::int64_t>(size));
    std::vector<char> piece(kAtOnce);
    for (std::uint64_t left = size; left > 0;) {
      in.read(piece.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, kAtOnce)));
      const auto count = in.gcount();
      if (count <= 0) return cannot_read(file);
      if (library_.archive_write_data(archive_.get(), piece.data(),
                                      static_cast<std::size_t>(count)) < 0)
        return {};
      left -= static_cast<std::uint64_t>(count);
    }
    return {};
  }

  void add_directory(const std::string& name) { begin(name, AE_IFDIR, 0700, 0); }
  void finish() { (void)library_.archive_write_close(archive_.get()); }

 private:
  struct Free {
    const ArchiveLibrary* library;
    void operator()(archive* it) const { library->archive_write_free(it); }
  };

  static la_ssize_t write(archive*, void* out, const void* bytes, std::size_t count) {
    auto& stream = *static_cast<std::ostream*>(out);
    stream.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    return stream ? static_cast<la_ssize_t>(count) : -1;
  }

  static tl::unexpected<Error> cannot_read(const fs::path& file) {
    return fail(ErrorCode::storage, fmt::format("'{}' can't be read.", file.string()),
                "Try again; a server may have put it elsewhere meanwhile.", Retry::may_help);
  }

  void begin(const std::string& name, unsigned type, unsigned mode, std::int64_t size) {
    const std::unique_ptr<archive_entry, decltype(&::archive_entry_free)> entry(
        library_.archive_entry_new(), library_.archive_entry_free);
    library_.archive_entry_set_pathname(entry.get(), name.c_str());
    library_.archive_entry_set_filetype(entry.get(), type);
    library_.archive_entry_set_perm(entry.get(), mode);
    library_.archive_entry_set_size(entry.get(), size);
    library_.archive_entry_set_mtime(entry.get(), ::time(nullptr), 0);
    (void)library_.archive_write_header(archive_.get(), entry.get());
  }

  const ArchiveLibrary& library_;
  std::unique_ptr<archive, Free> archive_;
};

// Segments of entries that the database had as well, or had no longer.
std::vector<Segment> segments_until(const SegmentDir& segments, std::uint64_t last) {
  std::vector<Segment> found;
  for (const Segment& segment : segments.all()) {
    if (segment.last <= last) found.push_back(segment);
  }
  return found;
}

// Which machine it is (agent/linux/machine.hpp): without it a server made of the archive would take
// its own machine for another one of that name, and not hear it as long as jobs count as there.
Result<void> add_machine(Tar& tar, const fs::path& directory) {
  std::error_code none;
  if (!fs::exists(directory / kMachineFile, none)) return {};
  tar.add_directory("agent");
  return tar.add(directory / kMachineFile, std::string(kMachineFile));
}

}  // namespace

Result<BackupDone> make_backup(const BackupOptions& options) {
  if (auto ok = check_name(options.output); !ok) return fail(ok.error());
  if (auto ok = check_writable(options.output); !ok) return fail(ok.error());
  const auto store = SqliteStore::open_to_read(fs::path(options.directory) / kDatabaseFile);
  if (!store) return fail(store.error());
  const Passing copy(fmt::format("{}.{}.db", options.output, ::getpid()));
  if (auto copied = (*store)->copy_to(copy.file()); !copied) return fail(copied.error());
  const auto state =
      SqliteStore::open_to_read(copy.file()).and_then([](auto read) { return read->load(); });
  if (!state) return fail(state.error());
  const auto library = archive_library();
  if (!library) return fail(library.error());
  BackupDone done;
  done.entries = state->seq();
  done.jobs = state->jobs().given();
  Result<void> added;
  const auto pack = [&](std::ostream& out) {
    Tar tar(**library, out, is_packed(options.output));
    const SegmentDir& segments = (*store)->segments();
    const auto older = segments_until(segments, state->seq());
    if (!older.empty()) tar.add_directory("segments");
    for (const Segment& segment : older) {
      const auto file = segments.path_of(segment);
      if (added) added = tar.add(file, "segments/" + file.filename().string());
    }
    if (added) added = tar.add(copy.file(), std::string(kDatabaseFile));
    if (added) added = add_machine(tar, options.directory);
    tar.finish();
    if (!added) out.setstate(std::ios::failbit);
  };
  const auto before = ::umask(0077);  // it holds people's environments
  const auto written = write_whole(options.output, pack);
  ::umask(before);
  (void)::chmod(options.output.c_str(), 0600);  // where another file had its name
  if (!added) return fail(added.error());
  if (!written) return fail(written.error());
  done.bytes = fs::file_size(options.output);
  return done;
}

}  // namespace paceline
