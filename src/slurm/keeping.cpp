#include "slurm/keeping.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {
namespace {

bool is_over(const KnownPilot& known) {
  if (!known.pilot) return known.asked_for >= kListedWithin;
  return known.pilot->state == PilotState::over;
}

// Slurm ended its processes. Of a node that failed it only hears nothing.
bool has_ended(const KnownPilot& known) {
  return known.pilot && known.pilot->slurm_state != "NODE_FAIL";
}

bool is_there(const KnownPilot& known) {
  return known.pilot &&
         (known.pilot->state == PilotState::pending || known.pilot->state == PilotState::running);
}

// It waits, and nothing would come of it, or nothing that is still wanted.
bool waits_in_vain(const KnownPilot& known) {
  return known.pilot && known.pilot->state == PilotState::pending &&
         (known.requeued || known.outdated);
}

bool may_bring(const KnownPilot& known) {
  return !is_over(known) && (!known.pilot || is_there(known)) && !waits_in_vain(known);
}

// It will bring slots, and has not yet.
bool comes(const KnownPilot& known) { return may_bring(known) && !(known.node && known.node->up); }

// Its slots are counted as there, now or soon.
bool stays(const KnownPilot& known) {
  return may_bring(known) && !(known.node && known.node->begun);
}

std::string how_it_ended(const KnownPilot& known) {
  if (!known.pilot) return "which Slurm knows no more";
  const Pilot& pilot = *known.pilot;
  if (known.requeued) return fmt::format("job {}, requeued", pilot.job);
  if (pilot.reason.empty()) return fmt::format("job {}, {}", pilot.job, pilot.slurm_state);
  return fmt::format("job {}, {}, {}", pilot.job, pilot.slurm_state, pilot.reason);
}

Duration drains_before(const PilotSettings& settings) {
  return std::min(kDrainsBefore, settings.time / kDrainsBeforePart);
}

// A job that needs longer is not put there, unless it goes on elsewhere from what it saved; what is there can leave.
std::optional<DrainPilot> before_the_limit(const KnownPilot& known, const PilotSettings& settings) {
  const auto& left = known.pilot->time_left;
  if (!left || known.node->draining || known.pilot->state != PilotState::running) return {};
  const auto begins = drains_before(settings);
  const auto ends = std::min(kEmptyBefore, settings.time / kEmptyBeforePart);
  return DrainPilot{known.node->name,
                    fmt::format("Slurm's time limit of pilot job {}", known.pilot->job),
                    std::max(Duration{}, *left - begins), std::max(Duration{1}, *left - ends)};
}

class Keeping {
 public:
  explicit Keeping(const Situation& situation) : it_(situation) {}

  std::vector<PilotAction> decide() {
    for (const auto& known : it_.pilots) look_at(known);
    if (it_.leaving) return std::move(actions_);
    const std::uint32_t wanted = pilots_wanted(it_.demand, it_.settings);
    const auto coming = static_cast<std::uint32_t>(std::ranges::count_if(it_.pilots, comes));
    const auto has = static_cast<std::uint32_t>(std::ranges::count_if(it_.pilots, stays));
    const auto most = it_.settings.nodes_max;
    if (wanted > coming) ask(std::min(wanted - coming, most - std::min(has, most)));
    take_back(std::max(coming - std::min(wanted, coming), has - std::min(most, has)));
    give_back_idle();
    return std::move(actions_);
  }

 private:
  void look_at(const KnownPilot& known) {
    const bool may_run = known.node && known.node->busy && !has_ended(known);
    if (is_over(known) && may_run) {
      if (!known.node->begun)
        actions_.emplace_back(LeaveToLease{known.node->name, how_it_ended(known)});
    } else if (is_over(known)) {
      actions_.emplace_back(
          CountOver{known.invitation, how_it_ended(known), known.node.has_value()});
    } else if (is_there(known)) {
      const bool empty = known.node && known.node->begun && !known.node->busy;
      if (empty || waits_in_vain(known) || (it_.leaving && !known.node)) return give_back(known);
      if (known.node) drain(known);
    }
  }

  void drain(const KnownPilot& known) {
    if (it_.leaving && !known.node->begun) {
      actions_.emplace_back(DrainPilot{known.node->name, "Slurm is left", {}, kLeavesWithin});
    } else if (auto order = before_the_limit(known, it_.settings)) {
      actions_.emplace_back(std::move(*order));
    }
  }

  void give_back(const KnownPilot& known) { actions_.emplace_back(GiveBack{known.pilot->job}); }

  void ask(std::uint32_t count) {
    if (count > 0 && it_.may_ask) actions_.emplace_back(AskFor{count});
  }

  // Those that Slurm has not started, the newest first.
  void take_back(std::uint32_t count) {
    std::vector<const KnownPilot*> waiting;
    for (const auto& known : it_.pilots)
      if (known.pilot && known.pilot->state == PilotState::pending && !waits_in_vain(known))
        waiting.push_back(&known);
    std::ranges::sort(waiting, std::ranges::greater{},
                      [](const KnownPilot* known) { return known->pilot->job; });
    for (const auto* known : waiting)
      if (count-- > 0)
        give_back(*known);
      else
        return;
  }

  void give_back_idle() {
    std::uint64_t spare = it_.demand.there - std::min(it_.demand.there, it_.demand.needed);
    for (const auto& known : it_.pilots) {
      if (!is_there(known) || !known.node || !known.node->up || known.node->begun) continue;
      const auto& node = *known.node;
      if (node.busy || node.idle_for < it_.settings.idle || node.slots > spare) continue;
      spare -= node.slots;
      std::erase_if(actions_, [&](const PilotAction& action) {
        const auto* drain = std::get_if<DrainPilot>(&action);
        return drain != nullptr && drain->node == node.name;
      });
      actions_.emplace_back(
          DrainPilot{node.name, "nothing runs there, and nothing waits for it", {}, {}});
    }
  }

  const Situation& it_;
  std::vector<PilotAction> actions_;
};

}  // namespace

Duration lasts(const PilotSettings& settings) { return settings.time - drains_before(settings); }

std::uint32_t pilots_wanted(const Demand& demand, const PilotSettings& settings) {
  if (demand.wanted <= demand.there) return 0;
  const std::uint64_t each = slots_of(settings);
  const auto wanted = (demand.wanted - demand.there + each - 1) / each;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, settings.nodes_max));
}

std::vector<PilotAction> reconcile(const Situation& situation) {
  return Keeping(situation).decide();
}

}  // namespace paceline
