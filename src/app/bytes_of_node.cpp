#include "app/bytes_of_node.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/log_removal.hpp"
#include "link/worker_doors.hpp"

namespace paceline {
namespace {

constexpr auto kEveryFile = std::numeric_limits<std::size_t>::max();

// A process of the job is claimed here.
bool has_claims(const std::string& directory, JobId job) {
  const auto prefix = fmt::format("{}.", job.value);
  const auto claims = agent::list_directory(directory + "/agent/workers");
  return std::ranges::any_of(claims,
                             [&](const std::string& name) { return name.starts_with(prefix); });
}

}  // namespace

BytesUplink::Options uplink_options(BytesOfNode node, Clock& clock) {
  BytesUplink::Options options;
  options.dial = [server = std::move(node.server)](const std::function<int()>& interrupted) {
    return open_upgrade(server(interrupted), "/v1/bytes", "paceline-bytes");
  };
  options.logs.directory = node.directory;
  options.logs.machine = std::move(node.machine);
  options.logs.in_use = [directory = node.directory](JobId job) {
    return has_claims(directory, job);
  };
  options.logs.remove = [directory = node.directory](JobId job) {
    const auto removed = agent::remove_logs(directory, job, kEveryFile);
    if (!removed) spdlog::warn("{} {}", removed.error().message, removed.error().hint);
  };
  options.logs.over = std::move(node.over);
  options.ships = std::move(node.ships);
  options.door = [directory = node.directory](const ProcessKey& worker, WorkerDoor door) {
    return open_door(directory, worker, door);
  };
  options.seed = std::random_device()();
  options.wall = [&clock] { return clock.wall(); };
  return options;
}

}  // namespace paceline
