#include "ship/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/number.hpp"
#include "files/private_file.hpp"
#include "files/write_all.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShips = "ships", kFiles = "files", kParts = "parts";
// A file that was given away is its user's, whose lease on it keeps nobody waiting.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
constexpr int kPartFlags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;

tl::unexpected<Error> not_kept(std::string_view what, int reason) {
  return fail(ErrorCode::storage,
              fmt::format("A shipped directory can't be {}: {}.", what, std::strerror(reason)),
              "Make room on the disk of DIR.", Retry::may_help);
}

Result<void> make_private_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return not_kept("kept", errno);
}

fs::path folder_of(const fs::path& store, std::uint32_t uid, std::string_view kind) {
  return store / fmt::format("{}", uid) / kind;
}

// Nothing: it is no file of ours.
std::optional<std::uint64_t> size_of(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

bool has_files(const fs::path& store, std::uint32_t uid, const Manifest& manifest) {
  return std::ranges::all_of(manifest.files, [&](const ShipFile& file) {
    return size_of(folder_of(store, uid, kFiles) / file.sha256) == file.bytes;
  });
}

std::int64_t written_ns(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return 0;
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error))
    names.push_back(it->path().filename().string());
  return names;
}

tl::unexpected<Error> changed_meanwhile() {
  return fail(ErrorCode::invalid, "A file changed while it was shipped.",
              "Submit again once nothing writes it, or name it in .pacelineignore.");
}

std::size_t entries_of(const Manifest& manifest) {
  return 1 + manifest.files.size() + manifest.links.size() + manifest.directories.size();
}

}  // namespace

struct ShipStore::Ship {
  std::uint64_t turn = 0;             // in which it was used last; 0: before this store was opened
  std::int64_t written_ns = 0;        // then by this
  std::optional<Instant> offered_at;  // since which it may be on its way
  std::size_t entries = 0;
  std::uint64_t text_bytes = 0;
  std::vector<Sha256> files;  // each once
};

struct ShipStore::User {
  struct File {
    std::uint64_t bytes = 0;
    std::uint32_t ships = 0;  // that hold it
    Instant piece_at = Instant::min();
    bool there = false;
  };
  std::map<std::string, Ship> ships;
  std::map<Sha256, File> files;
  std::uint64_t bytes = 0;     // of what is there
  std::uint64_t promised = 0;  // of files that are not
  std::size_t entries = 0;

  [[nodiscard]] std::uint64_t held() const { return bytes + promised; }
  void set_there(File& file, bool there) {
    if (std::exchange(file.there, there) == there) return;
    (there ? bytes : promised) += file.bytes;
    (there ? promised : bytes) -= file.bytes;
  }
};

// Its file goes with it, unless it became whole and has another name by then.
struct ShipStore::Part {
  Part(fs::path at, UniqueFd to) : path(std::move(at)), fd(std::move(to)) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() { ::unlink(path.c_str()); }

  // These bytes are in it from there on.
  [[nodiscard]] bool holds(std::uint64_t from, std::string_view those) const {
    std::string there(those.size(), '\0');
    const auto got = ::pread(fd.get(), there.data(), there.size(), static_cast<off_t>(from));
    return got == static_cast<ssize_t>(those.size()) && there == those;
  }

  fs::path path;
  UniqueFd fd;
  Sha256Sum sum;
  std::uint64_t bytes = 0;
};

ShipStore::ShipStore(Options options) : options_(std::move(options)) {}
ShipStore::~ShipStore() = default;

fs::path ShipStore::folder(std::uint32_t uid, std::string_view kind) const {
  return folder_of(options_.directory, uid, kind);
}

ShipStore::User& ShipStore::user(std::uint32_t uid) {
  load();
  auto& found = users_[uid];
  if (!found) found = std::make_unique<User>();
  return *found;
}

void ShipStore::load() {
  if (std::exchange(loaded_, true)) return;
  for (const auto& name : names_in(options_.directory))
    if (const auto uid = parse_number<std::uint32_t>(name)) load(*uid);
}

// What no manifest names goes.
void ShipStore::load(std::uint32_t uid) {
  std::error_code ignored;
  for (const auto& name : names_in(folder(uid, kParts)))
    fs::remove(folder(uid, kParts) / name, ignored);
  User& mine = user(uid);
  for (const auto& name : names_in(folder(uid, kShips))) {
    auto read = read_ship(options_.directory, uid, name);
    if (read) {
      index(mine, name, *read);
      mine.ships.at(name).written_ns = written_ns(folder(uid, kShips) / name);
    } else {
      fs::remove(folder(uid, kShips) / name, ignored);
    }
  }
  for (auto& [digest, file] : mine.files)
    mine.set_there(file, size_of(folder(uid, kFiles) / to_hex(digest)) == file.bytes);
  for (const auto& name : names_in(folder(uid, kFiles))) {
    const auto digest = sha256_from_hex(name);
    const auto known = digest ? mine.files.find(*digest) : mine.files.end();
    if (known == mine.files.end() || !known->second.there)
      fs::remove(folder(uid, kFiles) / name, ignored);
  }
}

void ShipStore::index(User& user, const std::string& name, const Manifest& manifest) {
  auto [found, fresh] = user.ships.try_emplace(name);
  if (!fresh) return;
  Ship& ship = found->second;
  ship.entries = entries_of(manifest);
  ship.text_bytes = to_text(manifest).size();
  std::set<Sha256> digests;
  for (const auto& file : manifest.files) {
    const auto digest = *sha256_from_hex(file.sha256);
    if (!digests.insert(digest).second) continue;
    ship.files.push_back(digest);
    auto& kept = user.files[digest];
    if (kept.ships++ > 0) continue;
    kept.bytes = file.bytes;
    user.promised += file.bytes;
  }
  user.entries += ship.entries;
  user.bytes += ship.text_bytes;
}

Result<void> ShipStore::keep_text(std::uint32_t uid, const std::string& name,
                                  const std::string& text) const {
  for (const auto& path : {options_.directory, folder(uid, "").parent_path(), folder(uid, kShips),
                           folder(uid, kFiles), folder(uid, kParts)})
    if (auto made = make_private_folder(path); !made) return made;
  const auto aside = folder(uid, kParts) / (name + ".ship");
  const UniqueFd fd(::open(aside.c_str(), kPartFlags, 0600));
  if (!fd || !write_all(fd.get(), text) ||
      ::rename(aside.c_str(), (folder(uid, kShips) / name).c_str()) != 0) {
    const int reason = errno;
    ::unlink(aside.c_str());
    return not_kept("kept", reason);
  }
  return {};
}

Result<OfferedShip> ShipStore::offer(std::uint32_t uid, const Manifest& manifest,
                                     std::uint64_t bytes_max) {
  OfferedShip offered;
  offered.bytes = manifest.bytes();
  bytes_max = std::min(bytes_max, options_.bytes_per_user_max);
  if (offered.bytes > bytes_max)
    return fail(ErrorCode::too_large,
                fmt::format("The directory has {} bytes; a ship has at most {} here.",
                            offered.bytes, bytes_max),
                "Name data in .pacelineignore, and put it on a file system that the nodes share.");
  const auto text = to_text(manifest);
  offered.name = ship_name(text);
  User& mine = user(uid);
  for (const auto& file : manifest.files)
    if (!agrees(uid, file)) return changed_meanwhile();
  const bool fresh = !mine.ships.contains(offered.name);
  index(mine, offered.name, manifest);
  offered.missing = missing(uid, manifest);
  auto kept = make_room(uid, offered.name);
  if (kept && options_.room) {
    std::uint64_t more = fresh ? text.size() : 0;
    for (const auto& file : offered.missing) more += file.bytes;
    if (more > 0) kept = options_.room(more);
  }
  if (kept) kept = keep_text(uid, offered.name, text);
  if (!kept) {
    if (fresh) drop(uid, offered.name);
    return fail(std::move(kept.error()));
  }
  touch(uid, offered.name);
  mine.ships.at(offered.name).offered_at = options_.now();
  return offered;
}

// A digest has one length: that of a file which is there is proved, or the one told last holds.
bool ShipStore::agrees(std::uint32_t uid, const ShipFile& file) {
  User& mine = user(uid);
  const auto found = mine.files.find(*sha256_from_hex(file.sha256));
  if (found == mine.files.end() || found->second.bytes == file.bytes) return true;
  auto& known = found->second;
  mine.set_there(known, size_of(folder(uid, kFiles) / file.sha256) == known.bytes);
  if (known.there) return false;
  parts_.erase({uid, file.sha256});
  mine.promised -= known.bytes;
  known.bytes = file.bytes;
  mine.promised += known.bytes;
  return true;
}

// Somebody may have removed what was there.
std::vector<ShipFile> ShipStore::missing(std::uint32_t uid, const Manifest& manifest) {
  User& mine = user(uid);
  std::vector<ShipFile> found;
  std::set<std::string_view> seen;
  for (const auto& file : manifest.files) {
    if (!seen.insert(file.sha256).second) continue;
    auto& known = mine.files.at(*sha256_from_hex(file.sha256));
    mine.set_there(known, size_of(folder(uid, kFiles) / file.sha256) == known.bytes);
    if (!known.there) found.push_back(file);
  }
  return found;
}

void ShipStore::forget(std::uint32_t uid, const std::string& name) {
  if (!is_wanted(uid, name) && user(uid).ships.contains(name)) drop(uid, name);
}

void ShipStore::touch(std::uint32_t uid, const std::string& name) {
  const auto path = folder(uid, kShips) / name;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  auto& ships = user(uid).ships;
  const auto found = ships.find(name);
  if (found == ships.end()) return;
  found->second.turn = ++turn_;
  found->second.offered_at.reset();
}

// For what is known of, of which that ship stays. The user's own go first, then those of all.
Result<void> ShipStore::make_room(std::uint32_t uid, const std::string& name) {
  const auto within = [&] {
    const User& mine = *users_.at(uid);
    return mine.held() <= options_.bytes_per_user_max && mine.entries <= kShipEntriesPerUserMax &&
           mine.ships.size() <= kShipsPerUserMax;
  };
  const std::pair stays{uid, name};
  while (!within() && drop_oldest(&uid, stays)) {
  }
  const auto full = [&](std::string_view whose, const std::uint32_t* of) {
    return fail(ErrorCode::unavailable,
                fmt::format("The shipped directories of {} that are not over, and those on their "
                            "way, leave no room for another one.",
                            whose),
                "Submit it once some of these jobs are over, or in a minute.",
                any_comes(of, stays) ? Retry::may_help : Retry::useless);
  };
  if (!within()) return full("your jobs", &uid);
  const auto all = [&] {
    std::uint64_t sum = 0;
    for (const auto& [each, user] : users_) sum += user->held();
    return sum;
  };
  while (all() > options_.bytes_max && drop_oldest(nullptr, stays)) {
  }
  if (all() > options_.bytes_max) return full("jobs", nullptr);
  return {};
}

bool ShipStore::is_wanted(std::uint32_t uid, const std::string& name) const {
  return options_.in_use && options_.in_use(uid, name);
}

// What was found not to be is not looked at again.
bool ShipStore::comes(const User& user, Ship& ship) const {
  if (!ship.offered_at) return false;
  const auto since = options_.now() - options_.comes_for;
  const auto is_new = [&](const Sha256& file) { return user.files.at(file).piece_at > since; };
  if (*ship.offered_at > since || std::ranges::any_of(ship.files, is_new)) return true;
  ship.offered_at.reset();
  return false;
}

// May one of them go in a while?
bool ShipStore::any_comes(const std::uint32_t* of,
                          const std::pair<std::uint32_t, std::string>& but) {
  for (const auto& [uid, user] : users_) {
    if (of != nullptr && uid != *of) continue;
    for (auto& [name, ship] : user->ships)
      if (std::pair(uid, name) != but && !is_wanted(uid, name) && comes(*user, ship)) return true;
  }
  return false;
}

// False: there is none that may go.
bool ShipStore::drop_oldest(const std::uint32_t* of,
                            const std::pair<std::uint32_t, std::string>& but) {
  std::optional<std::pair<std::uint32_t, std::string>> oldest;
  std::pair<std::uint64_t, std::int64_t> age{};
  for (const auto& [uid, user] : users_) {
    if (of != nullptr && uid != *of) continue;
    for (auto& [name, ship] : user->ships) {
      if (std::tie(uid, name) == std::tie(but.first, but.second)) continue;
      if (is_wanted(uid, name) || comes(*user, ship)) continue;
      const std::pair used{ship.turn, ship.written_ns};
      if (!oldest || used < age) {
        oldest.emplace(uid, name);
        age = used;
      }
    }
  }
  if (!oldest) return false;
  drop(oldest->first, oldest->second);
  return true;
}

void ShipStore::drop(std::uint32_t uid, const std::string& name) {
  User& mine = *users_.at(uid);
  ::unlink((folder(uid, kShips) / name).c_str());
  const auto ship = mine.ships.extract(name).mapped();
  mine.bytes -= ship.text_bytes;
  mine.entries -= ship.entries;
  for (const auto& digest : ship.files) {
    const auto file = mine.files.find(digest);
    if (--file->second.ships > 0) continue;
    (file->second.there ? mine.bytes : mine.promised) -= file->second.bytes;
    remove_ship_file(options_.directory, uid, to_hex(digest));
    parts_.erase({uid, to_hex(digest)});
    mine.files.erase(file);
  }
}

// One that begins with the same bytes is gone on with.
Result<void> ShipStore::begin_part(std::uint32_t uid, const std::string& digest,
                                   std::string_view bytes) {
  const auto key = std::pair(uid, digest);
  if (const auto known = parts_.find(key); known != parts_.end()) {
    if (known->second->holds(0, bytes.substr(0, known->second->bytes))) return {};
    parts_.erase(known);
  }
  const auto first = parts_.lower_bound({uid, {}});
  const auto last = parts_.lower_bound({uid + 1, {}});
  if (std::distance(first, last) >= kShipUploadsMax) parts_.erase(first);
  auto path = folder(uid, kParts) / digest;
  UniqueFd fd(::open(path.c_str(), kPartFlags, 0600));
  if (!fd) return not_kept("kept", errno);
  parts_.emplace(key, std::make_unique<Part>(std::move(path), std::move(fd)));
  return {};
}

Result<bool> ShipStore::take(std::uint32_t uid, const ShipPiece& piece, std::string_view bytes) {
  const auto digest = sha256_from_hex(piece.sha256);
  User& mine = user(uid);
  const auto file = digest ? mine.files.find(*digest) : mine.files.end();
  const auto out_of_step = [] {
    return fail(ErrorCode::conflict, "A file of a ship came that nobody asked for.",
                "Offer the manifest again: POST /v1/ships.", Retry::may_help);
  };
  if (file == mine.files.end()) return out_of_step();
  file->second.piece_at = options_.now();
  if (file->second.there) return false;
  const auto key = std::pair(uid, piece.sha256);
  if (piece.from + bytes.size() > file->second.bytes) return out_of_step();
  if (piece.from == 0)
    if (auto begun = begin_part(uid, piece.sha256, bytes); !begun) return fail(begun.error());
  const auto found = parts_.find(key);
  if (found == parts_.end() || found->second->bytes < piece.from) return out_of_step();
  Part& part = *found->second;
  // What somebody else who sends the same file brought counts. Whose bytes are right the sum tells.
  const auto known = bytes.substr(0, part.bytes - piece.from);
  if (!part.holds(piece.from, known)) {
    parts_.erase(found);
    return out_of_step();
  }
  bytes.remove_prefix(known.size());
  if (!write_all(part.fd.get(), bytes)) {
    const int reason = errno;
    parts_.erase(found);
    return not_kept("kept", reason);
  }
  part.sum.add(bytes);
  part.bytes += bytes.size();
  if (part.bytes < file->second.bytes) return false;
  auto finished = finish(uid, piece.sha256, part);
  parts_.erase(found);
  if (!finished) return fail(std::move(finished.error()));
  mine.set_there(file->second, true);
  return true;
}

Result<void> ShipStore::finish(std::uint32_t uid, const std::string& digest, Part& part) {
  if (to_hex(part.sum.finish()) != digest) return changed_meanwhile();
  if (::rename(part.path.c_str(), (folder(uid, kFiles) / digest).c_str()) != 0)
    return not_kept("kept", errno);
  return {};
}

bool ShipStore::has(std::uint32_t uid, const std::string& name) {
  const auto found = manifest(uid, name);
  return found && has(uid, *found);
}

bool ShipStore::has(std::uint32_t uid, const Manifest& manifest) const {
  return has_files(options_.directory, uid, manifest);
}

Result<Manifest> ShipStore::manifest(std::uint32_t uid, const std::string& name) {
  return read_ship(options_.directory, uid, name);
}

std::uint64_t ShipStore::bytes(std::uint32_t uid) { return user(uid).bytes; }

// ---- reading ----

Result<UniqueFd> open_ship_file(const fs::path& store, std::uint32_t uid,
                                const std::string& digest) {
  for (const auto kind : {kFiles, kShips}) {
    if (!is_ship_name(digest)) break;
    const auto path = folder_of(store, uid, kind) / digest;
    UniqueFd fd(::open(path.c_str(), kReadFlags));
    if (fd) return fd;
    if (errno == EWOULDBLOCK)
      return fail(ErrorCode::conflict,
                  "A process holds a lease (fcntl F_SETLEASE) on a file of the shipped directory.",
                  "", Retry::may_help);
    if (errno != ENOENT && errno != ELOOP) return not_kept("read", errno);
  }
  return fail(ErrorCode::not_found, "A file of the shipped directory is not there any more.",
              "Submit the job again.");
}

Result<ShipBytes> read_ship_bytes(const fs::path& store, std::uint32_t uid,
                                  const std::string& digest, std::uint64_t from, std::size_t max) {
  const auto fd = open_ship_file(store, uid, digest);
  if (!fd) return fail(fd.error());
  struct stat info {};
  if (::fstat(fd->get(), &info) != 0) return not_kept("read", errno);
  ShipBytes read{{}, static_cast<std::uint64_t>(info.st_size)};
  read.bytes.resize(std::min<std::uint64_t>(max, read.of - std::min(from, read.of)));
  std::size_t size = 0;
  while (size < read.bytes.size()) {
    const auto count = ::pread(fd->get(), read.bytes.data() + size, read.bytes.size() - size,
                               static_cast<off_t>(from + size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return not_kept("read", errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  read.bytes.resize(size);
  return read;
}

Result<Manifest> read_ship(const fs::path& store, std::uint32_t uid, const std::string& name) {
  if (!is_ship_name(name) || !size_of(folder_of(store, uid, kShips) / name))
    return fail(ErrorCode::not_found, "There is no such ship of yours here.",
                "Offer its manifest first: POST /v1/ships.");
  const auto text = read_ship_bytes(store, uid, name, 0, kManifestBytesMax + 1);
  if (!text) return fail(text.error());
  if (ship_name(text->bytes) != name)
    return fail(ErrorCode::data, "The list of a ship's files is damaged.", "Submit the job again.");
  return read_manifest(text->bytes);
}

bool is_ship_lost(const fs::path& store, std::uint32_t uid, const std::string& name) {
  if (!sha256_library()) return false;
  const auto manifest = read_ship(store, uid, name);
  if (manifest) return !has_files(store, uid, *manifest);
  return manifest.error().code == ErrorCode::not_found || manifest.error().code == ErrorCode::data;
}

fs::path ship_file_path(const fs::path& store, std::uint32_t uid, const std::string& digest) {
  return folder_of(store, uid, kFiles) / digest;
}

void remove_ship_file(const fs::path& store, std::uint32_t uid, const std::string& digest) {
  ::unlink(ship_file_path(store, uid, digest).c_str());
}

}  // namespace paceline
