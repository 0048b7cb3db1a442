#include "link/worker_doors.hpp"

#include <fmt/format.h>

#include "files/write_all.hpp"
#include "http/unix_socket.hpp"

namespace paceline {

Result<UniqueFd> open_door(const std::filesystem::path& directory, const ProcessKey& worker,
                           WorkerDoor door) {
  const auto agent = directory / "agent";
  const auto name = fmt::format("{}.{}.{}", worker.job.value, worker.born.value, worker.number);
  if (door == WorkerDoor::terminal)
    return connect_unix(agent / "terminals" / (name + ".sock"), Connecting::non_blocking);
  auto fd = connect_unix(agent / "stacks.sock", Connecting::non_blocking);
  if (fd && !write_all(fd->get(), name + "\n"))
    return fail(ErrorCode::unavailable, "Nobody listens there.");
  return fd;
}

}  // namespace paceline
