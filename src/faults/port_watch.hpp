// The ports of gangs, watched from outside:
//
//   - no two gangs hold one port of a machine at once, and each holds ports of the machine's range
//   - a gang on several nodes has the same ports on all of them
//   - a gang that was refused its ports has others before long: a job that meets the same refusal
//     again and again is not tried with others
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "model/gang_ports.hpp"
#include "model/node.hpp"
#include "model/worker.hpp"

namespace paceline::faults {

class PortWatch {
 public:
  using Wrong = std::function<void(std::string)>;
  explicit PortWatch(Wrong wrong) : wrong_(std::move(wrong)) {}

  // A worker starts there with these ports; empty: with none of its own.
  void given(const NodeSpec& node, const WorkerLaunch& launch, const PortRange& ports);
  // A worker of a gang on several nodes was refused as one of these was taken there.
  void taken(const WorkerLaunch& launch);
  void ended(const ProcessKey& worker);

 private:
  using Gang = std::pair<JobId, Generation>;
  struct Holding {
    std::string machine;
    PortRange ports;
  };
  struct Refusals {
    Generation generation;  // the newest that was refused
    std::uint32_t port = 0;
    int in_a_row = 0;  // generations that were refused the same
  };

  Wrong wrong_;
  std::map<ProcessKey, Holding> held_;
  std::map<Gang, std::uint32_t> common_;  // the first port, on several nodes
  std::map<JobId, Refusals> refused_;
};

}  // namespace paceline::faults
