#include "app/nodes_bytes.hpp"

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
      door_(io, {.intake = {.directory = options.directory},
                 .right = [this](std::string_view node,
                                 const LogName& log) { return places_.right(node, log); },
                 .wall = [&clock] { return clock.wall(); }}),
      output_(std::make_shared<NodeOutput>(io, std::make_shared<LocalOutput>(io, options.directory),
                                           places_, door_)),
      look_(io) {
  hold_logs();
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
