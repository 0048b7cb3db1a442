// The ports of a machine: runs that its gangs hold, and blocks that strangers took. What it refuses
// agent/linux/ports.hpp refuses, too: the start of one gang, where its ports are the same on several
// nodes (decision 0054), or whatever needs ports, where no run is free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "model/gang_ports.hpp"
#include "model/worker.hpp"

namespace paceline::faults {

class FaultyPorts {
 public:
  explicit FaultyPorts(PortRange range) : range_(range) {}

  struct Answer {
    std::optional<PortRange> given;  // empty where the gang does without; nothing: refused
    bool alone = false;              // refused is this start, and no other
  };
  // For one more worker of a gang; those of one generation hold the same.
  Answer take(const WorkerLaunch& launch);
  // A worker that took is gone.
  void leave(const ProcessKey& worker);

  // A stranger takes a block of the range, drawn by `place`, and leaves it. One that is taken is not
  // drawn; nothing: it is a gang's.
  std::optional<std::uint32_t> let_stranger_in(std::uint64_t place);
  void let_stranger_out(std::uint32_t block) { strangers_.erase(block); }

  [[nodiscard]] const PortRange& range() const { return range_; }

 private:
  using Gang = std::pair<JobId, Generation>;
  struct Held {
    PortRange ports;
    int workers = 0;
  };

  [[nodiscard]] bool is_free(const PortRange& ports) const;
  [[nodiscard]] std::optional<PortRange> find_free(std::uint32_t from, std::uint32_t count) const;

  const PortRange range_;
  std::map<Gang, Held> held_;
  std::set<std::uint32_t> strangers_;  // blocks, by their first port
};

}  // namespace paceline::faults
