#include "agent/linux/log_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "agent/linux/files.hpp"
#include "files/fd.hpp"
#include "files/log_names.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {

std::string utc(WallTime time) {
  const std::time_t seconds = to_us(time) / 1'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

bool ends_in_a_line(int fd, off_t size) {
  char last = '\n';
  return size == 0 || (::pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

Error log_error(std::string_view what, int reason) {
  if (reason != EWOULDBLOCK) return system_error(what, reason);
  return {ErrorCode::conflict,
          fmt::format("{}: a process of its owner holds a lease on it (fcntl F_SETLEASE).", what),
          {},
          Retry::may_help};
}

UniqueFd open_log(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (fd && ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK) != 0) fd.reset();
  return fd;
}

std::string log_path(const std::string& server_directory, JobId job, std::int32_t number) {
  return fmt::format("{}/logs/{}/{}", server_directory, job.value, log_name(number));
}

std::string mark_line(const WorkerLaunch& worker, WallTime now) {
  return fmt::format("--- attempt {}, generation {}, rank {} of {}, {} ---\n", worker.attempt,
                     worker.key.born.value, worker.rank, worker.world_size, utc(now));
}

Result<std::int64_t> begin_log(const std::string& server_directory, const WorkerLaunch& worker,
                               WallTime now) {
  const std::string path = log_path(server_directory, worker.key.job, worker.key.number);
  const std::string what = "The log '" + path + "' can't be written";
  const auto failed = [&] { return fail(system_error(what, errno)); };
  if (auto made = make_directories(path.substr(0, path.rfind('/')), 0700); !made)
    return fail(made.error());
  const UniqueFd fd = open_log(path, O_RDWR | O_APPEND | O_CREAT);
  if (!fd) return fail(log_error(what, errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return failed();
  if (::geteuid() == 0 && info.st_uid != worker.uid &&
      ::fchown(fd.get(), worker.uid, static_cast<gid_t>(-1)) != 0)
    return failed();
  const std::string mark =
      (ends_in_a_line(fd.get(), info.st_size) ? "" : "\n") + mark_line(worker, now);
  if (!write_all(fd.get(), mark)) return failed();
  return static_cast<std::int64_t>(info.st_size) + static_cast<std::int64_t>(mark.size());
}

void add_log_note(const std::string& path, std::string_view sentence) {
  const UniqueFd fd = open_log(path, O_RDWR | O_APPEND);
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return;
  const char* before = ends_in_a_line(fd.get(), info.st_size) ? "" : "\n";
  static_cast<void>(write_all(fd.get(), fmt::format("{}--- {} ---\n", before, sentence)));
}

}  // namespace paceline::agent
