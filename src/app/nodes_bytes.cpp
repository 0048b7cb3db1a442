#include "app/nodes_bytes.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "api/local_output.hpp"
#include "api/node_output.hpp"

namespace paceline {
namespace {

constexpr std::chrono::milliseconds kHoldEvery{250};

}  // namespace

NodesBytes::NodesBytes(boost::asio::io_context& io, Clock& clock, Controller& controller,
                       agent::LinuxHost& host, const Options& options)
    : controller_(controller),
      host_(host),
      places_(controller, options.directory, options.own_node),
      reading_(io),
      door_(io, {.intake = {.directory = options.directory},
                 .right = [this](std::string_view node,
                                 const LogName& log) { return places_.right(node, log); },
                 .ship = [this](std::string_view node, JobId job) { return ship_of(node, job); },
                 .ships = options.ships,
                 .reading = &reading_,
                 .wall = [&clock] { return clock.wall(); }}),
      output_(std::make_shared<NodeOutput>(io, std::make_shared<LocalOutput>(io, options.directory),
                                           places_, door_)),
      look_(io) {
  hold_logs();
}

// A worker of the job was placed there.
Result<ShipRight> NodesBytes::ship_of(std::string_view node, JobId job) const {
  const Job* found = controller_.state().find_job(job);
  const bool placed =
      found != nullptr && !is_over(found->state) && places_.nodes(job).contains(node);
  if (!placed)
    return fail(ErrorCode::forbidden, fmt::format("Job {} has no business there.", job.value));
  const auto launch = controller_.store().launch(job);
  if (!launch) return fail(launch.error());
  ShipRight right{found->spec->uid, {}};
  if (!launch->shipped.ship.empty()) right.ships.push_back(launch->shipped.ship);
  if (found->checkpoint && found->checkpoint->place && !found->checkpoint->place->ship.empty())
    right.ships.push_back(found->checkpoint->place->ship);
  if (right.ships.empty()) return fail(ErrorCode::not_found, "Nothing travels with this job.");
  return right;
}

// What came since the last look is held to the limits, as what this machine's workers wrote.
void NodesBytes::hold_logs() {
  std::map<agent::LogKey, std::uint64_t> logs;
  for (const auto& log : door_.intake().take_grown()) {
    const Job* job = controller_.state().find_job(log.job);
    logs[{log.job, log.number}] = job == nullptr ? 0 : job->spec->log_limit_bytes;
  }
  if (!logs.empty()) host_.hold_logs_of_others(logs);
  look_.after(kHoldEvery, [this] { hold_logs(); });
}

}  // namespace paceline
