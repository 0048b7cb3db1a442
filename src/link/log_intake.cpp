#include "link/log_intake.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "files/log_names.hpp"

namespace paceline {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kFile = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// May the same succeed in a while, without anybody touching this log?
bool passes(int reason) {
  constexpr int kPassing[] = {ENOSPC, EIO, EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, EROFS};
  return std::ranges::find(kPassing, reason) != std::end(kPassing);
}

tl::unexpected<Error> cannot(std::string_view what, const LogName& log, int reason) {
  const auto message = fmt::format("The log of job {}, rank {} can't be {}: {}.", log.job.value,
                                   process_of(log.number), what, std::strerror(reason));
  if (passes(reason))
    return fail(ErrorCode::storage, message, "Make room on the server's disk.", Retry::may_help);
  return fail(ErrorCode::forbidden, message,
              "Look at what lies in 'logs' of the server's directory.");
}

tl::unexpected<Error> wrong_place(const LogName& log) {
  return fail(ErrorCode::conflict,
              fmt::format("A piece of the log of job {}, rank {} doesn't go on where the last one "
                          "ended.",
                          log.job.value, process_of(log.number)));
}

// The folder in another, made where it is missing.
UniqueFd folder_in(int parent, const std::string& name) {
  ::mkdirat(parent, name.c_str(), 0700);
  return UniqueFd(::openat(parent, name.c_str(), kFolder));
}

}  // namespace

struct LogIntake::Open {
  LogName name;
  UniqueFd file;
  LogSources sources;
  LogTimesWriter times;
  std::uint64_t length = 0;
  std::uint64_t used = 0;  // the turn in which it was used last

  // Others write to it, too. False: the file was removed.
  bool look() {
    struct stat info {};
    if (::fstat(file.get(), &info) != 0 || info.st_nlink == 0) return false;
    length = static_cast<std::uint64_t>(info.st_size);
    return true;
  }
};

LogIntake::LogIntake(Options options) : options_(std::move(options)) {
  if (!options_.write) options_.write = ::write;
}
LogIntake::~LogIntake() = default;

Result<std::uint64_t> LogIntake::taken(const Sha256& source, const LogName& log,
                                       std::uint32_t uid) {
  const auto open = this->open(log, uid);
  if (!open) return fail(open.error());
  return (*open)->sources.taken(source);
}

Result<std::uint64_t> LogIntake::take(const Sha256& source, const PieceHead& piece,
                                      std::uint32_t uid, std::string_view bytes) {
  const auto found = open(piece.log, uid);
  if (!found) return fail(found.error());
  Open& log = **found;
  const auto taken = log.sources.taken(source);
  const bool goes_on = taken == piece.from ||  // or again, after a part of it
                       (taken > piece.from && taken <= piece.offset + bytes.size());
  if (!goes_on) return wrong_place(piece.log);
  grown_.insert(piece.log);
  if (taken < piece.offset) {
    if (auto skipped = skip(log, source, piece); !skipped) return fail(skipped.error());
  } else {
    bytes.remove_prefix(taken - piece.offset);
  }
  const auto from = piece.offset + piece.bytes - bytes.size();
  if (bytes.empty()) return from;
  if (auto begun = begin_line(log, source); !begun) return fail(begun.error());
  const LogSources::Append append{from, from + bytes.size(), log.length,
                                  static_cast<std::uint32_t>(bytes.size())};
  auto done = log.sources.intend(source, append);
  if (done) done = this->append(log, bytes);
  if (!done) {
    static_cast<void>(log.sources.shorten_to(source, log.length));
    return fail(done.error());
  }
  log.times.note(piece.at, log.length);
  return append.to;
}

Result<void> LogIntake::begin_anew(const Sha256& source, const LogName& log, std::uint32_t uid,
                                   std::uint64_t from) {
  const auto found = open(log, uid);
  if (!found) return fail(found.error());
  return (*found)->sources.intend(source, {from, from, (*found)->length, 0});
}

// Says in the log what is missing.
Result<void> LogIntake::skip(Open& log, const Sha256& source, const PieceHead& piece) {
  if (auto begun = begin_line(log, source); !begun) return begun;
  char last = '\n';
  if (log.length > 0 && ::pread(log.file.get(), &last, 1, static_cast<off_t>(log.length - 1)) != 1)
    return cannot("read", log.name, EIO);
  const auto text = fmt::format("{}--- {} bytes were removed ---\n", last == '\n' ? "" : "\n",
                                piece.offset - piece.from);
  const LogSources::Append append{piece.from, piece.offset, log.length,
                                  static_cast<std::uint32_t>(text.size())};
  auto done = log.sources.intend(source, append);
  if (done) done = this->append(log, text);
  if (!done) static_cast<void>(log.sources.shorten_to(source, log.length));
  return done;
}

// What somebody else wrote last may end within a line.
Result<void> LogIntake::begin_line(Open& log, const Sha256& source) {
  char last = '\n';
  if (log.length == 0 || log.sources.wrote_last(source, log.length)) return {};
  if (::pread(log.file.get(), &last, 1, static_cast<off_t>(log.length - 1)) != 1)
    return cannot("read", log.name, EIO);
  if (last == '\n') return {};
  return append(log, "\n");
}

Result<void> LogIntake::append(Open& log, std::string_view text) {
  while (!text.empty()) {
    const auto count = options_.write(log.file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return cannot("written", log.name, count < 0 ? errno : ENOSPC);
    log.length += static_cast<std::uint64_t>(count);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<LogIntake::Open*> LogIntake::open(const LogName& log, std::uint32_t uid) {
  auto found = open_.find(log);
  if (found != open_.end() && !found->second->look()) {
    open_.erase(found);
    found = open_.end();
  }
  if (found == open_.end()) {
    auto opened = open_files(log, uid);
    if (!opened) return fail(opened.error());
    found = open_.emplace(log, std::move(*opened)).first;
  }
  Open* const open = found->second.get();
  open->used = ++turn_;
  if (open_.size() <= options_.open_max) return open;
  open_.erase(
      std::ranges::min_element(open_, {}, [](const auto& each) { return each.second->used; }));
  return open;
}

Result<UniqueFd> LogIntake::open_folder(JobId job) const {
  const UniqueFd directory(::open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  UniqueFd folder;
  if (directory) folder = folder_in(directory.get(), "logs");
  if (folder) folder = folder_in(folder.get(), fmt::format("{}", job.value));
  if (!folder) return cannot("opened", {job, 0}, errno);
  return folder;
}

Result<std::unique_ptr<LogIntake::Open>> LogIntake::open_files(const LogName& log,
                                                               std::uint32_t uid) const {
  const auto folder = open_folder(log.job);
  if (!folder) return fail(folder.error());
  const auto name = log_name(log.number);
  UniqueFd file(::openat(folder->get(), name.c_str(), kFile | O_APPEND, 0600));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return cannot("opened", log, errno);
  if (!S_ISREG(info.st_mode)) return cannot("opened", log, EINVAL);
  if (::geteuid() == 0 && info.st_uid != uid && info.st_size == 0 &&
      ::fchown(file.get(), uid, static_cast<gid_t>(-1)) != 0)
    return cannot("given to its user", log, errno);
  UniqueFd beside(::openat(folder->get(), beside_log(name, "sources").c_str(), kFile, 0600));
  if (!beside) return cannot("opened", log, errno);
  const auto length = static_cast<std::uint64_t>(info.st_size);
  auto sources = LogSources::open(std::move(beside), length);
  if (!sources) return fail(sources.error());
  const auto path = options_.directory / "logs" / fmt::format("{}", log.job.value) / name;
  return std::make_unique<Open>(Open{log, std::move(file), std::move(*sources),
                                     LogTimesWriter(times_path(path.string())), length, 0});
}

}  // namespace paceline
