// The desk for nodes that are to become empty (plan/draining.hpp): what operators ask for here, and what
// falls due by itself, becomes events of the journal.
//
//   controller.drains().drain("gpu1", {.within = 30min}, by, done);
//   drains.follow(event, at);                        // before each event is folded
//   for (Event& event : drains.due(now)) …           // announced drains that begin; nodes that fail jobs
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clock/clock.hpp"
#include "model/event.hpp"
#include "scheduler/commands.hpp"
#include "scheduler/departures.hpp"
#include "scheduler/drain_outlook.hpp"
#include "scheduler/failing_nodes.hpp"
#include "scheduler/policies.hpp"

namespace paceline {

class Drains {
 public:
  struct Parts {
    const State& state;
    Clock& clock;
    const Policies& policies;
    const Placer& placer;
    Protects protects;
    // Takes an event for the journal; `done` is called once it is durable.
    std::function<void(Event, Done<void> done)> order;
  };
  explicit Drains(Parts parts) : parts_(std::move(parts)) {}

  // From now on, nodes where jobs of so many owners fail in a row are set aside. REQUIRES: > 0.
  void set_aside_after(std::uint64_t owners) { failing_.emplace(owners); }

  // ---- what people ask for; `done` is called once it is durable, or at once with an error ----
  // From now on, or from the named instant. Errors: not_found, invalid.
  void drain(std::string_view node, DrainOrder order, Principal by, Done<void> done);
  // All of them, before the next round: none of their jobs moves to another of them. Errors: as of
  // drain(), of none then. REQUIRES: one at least.
  void drain_together(std::span<const std::string> nodes, DrainOrder order, Principal by,
                      Done<void> done);
  // Jobs may start there again. Errors: not_found; conflict: it doesn't drain.
  void undrain(std::string_view node, Principal by, Done<void> done);
  // What draining it so would do, and cost. Nothing changes. Errors: as of drain().
  [[nodiscard]] Result<DrainOutlook> look_at(std::string_view node, const DrainOrder& order) const;
  [[nodiscard]] Result<DrainOutlook> look_at_together(std::span<const std::string> nodes,
                                                      const DrainOrder& order) const;

  // ---- what falls due ----
  void follow(const Event& event, Time at);
  [[nodiscard]] std::vector<Event> due(Time now);
  // When there may be some; nothing: only what is told may bring some.
  [[nodiscard]] std::optional<Time> next(Time now) const;

 private:
  // Those of the names, each once. Errors: as of drain().
  [[nodiscard]] Result<std::vector<NodeId>> admitted(std::span<const std::string> names,
                                                     const DrainOrder& order) const;

  Parts parts_;
  std::optional<FailingNodes> failing_;
  Departures departures_;
};

}  // namespace paceline
