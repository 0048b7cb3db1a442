#include "agent/linux/timeline_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/linux/files.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/log_room.hpp"
#include "files/fd.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kSlack = kTimelineBytes / 16;  // so that holes are made now and then

}  // namespace

Result<void> add_to_timeline(const std::string& path, std::uint32_t uid, std::string_view line) {
  const auto failed = [&] {
    return fail(log_error("The timeline '" + path + "' can't be written", errno));
  };
  const UniqueFd fd = open_log(path, O_RDWR | O_APPEND | O_CREAT);
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return failed();
  if (::geteuid() == 0 && info.st_uid != uid &&
      ::fchown(fd.get(), uid, static_cast<gid_t>(-1)) != 0)
    return failed();
  if (room_in(info) > 2 * kTimelineBytes) return {};
  const bool whole = ends_in_a_line(fd.get(), info.st_size);
  if (!write_all(fd.get(), (whole ? "" : "\n") + std::string(line))) return failed();
  return {};
}

void hold_timeline(const std::string& path) {
  const auto room = room_of(path);
  if (room && room->bytes > kTimelineBytes + kSlack)
    static_cast<void>(remove_bytes(path, {.bytes = room->bytes - kTimelineBytes}));
}

}  // namespace paceline::agent
