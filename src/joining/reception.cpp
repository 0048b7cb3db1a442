#include "joining/reception.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// What the node is heard to do shows that its machine isn't off. Errors: conflict.
Result<void> check_off(const State& state, const std::string& id) {
  const Node* node = state.find_node(id);
  if (node == nullptr || !node->up) return {};
  return fail(ErrorCode::conflict, fmt::format("Node '{}' is up, so its machine isn't off.", id),
              "Turn it off first and wait until it counts as down; or leave out --is-off.");
}

// It counts as a node, though nobody hears it.
bool is_missed(const State& state, const std::string& id) {
  const Node* node = state.find_node(id);
  return node != nullptr && !node->up && !node->retired;
}

// Those of a gang that is to start once the one before has ended did nothing yet.
bool has_begun(const Job& job, const ProcessKey& worker) {
  const bool waits = job.forming && !job.forms_in_place() && job.forming->rank_of(worker);
  const Worker* found = job.find_worker(worker);
  return !waits && found != nullptr && found->state != WorkerState::ended;
}

// Does the state not know yet that the workers on it ended, as its machine is off?
bool has_ends_to_come(const State& state, const JoinedNode& joined) {
  const Node* node = joined.off_by.empty() ? nullptr : state.find_node(joined.as.id);
  return node != nullptr && std::ranges::any_of(node->slots, [&](const Slot& slot) {
           return slot.lease && has_begun(state.job(slot.lease->worker.job), slot.lease->worker);
         });
}

}  // namespace

bool Reception::is_own(std::string_view node) const {
  return std::ranges::find(ways_.own_nodes, node) != ways_.own_nodes.end();
}

void Reception::recall(const std::function<void(std::string_view node)>& left) const {
  for (const auto& [id, node] : ways_.book.nodes()) {
    if (!node.removed_at) continue;
    left(id);
    if (ways_.count_off && !node.off_by.empty())
      static_cast<void>(
          ways_.count_off(id, node.off_by));  // one that nobody ever heard has nothing to count
  }
}

Result<std::uint64_t> Reception::join(const Joining& joining, const State& state,
                                      const Issue& issue) const {
  const auto& [digest, as, now] = joining;
  if (is_own(as.id))
    return fail(ErrorCode::conflict,
                fmt::format("The server's own machine is the node '{}'.", as.id),
                "Give this machine another name: --node NAME.");
  const auto known = ways_.book.nodes().find(as.id);
  if (known != ways_.book.nodes().end() && has_ends_to_come(state, known->second))
    return fail(ErrorCode::unavailable,
                fmt::format("What ran on the node '{}' before is not counted as ended yet.", as.id),
                "Try again in a moment.", Retry::may_help);
  const auto serial = ways_.book.may_join(digest, as, now);
  if (!serial) return serial;
  if (auto issued = issue(*serial); !issued) return fail(std::move(issued.error()));
  return ways_.book.join(digest, as, now);
}

Result<JoinedNode> Reception::remove(const Removal& removal, const State& state) const {
  const auto& [id, by, is_off, now] = removal;
  if (is_own(id))
    return fail(ErrorCode::conflict, fmt::format("'{}' is the server's own machine.", id),
                "It goes with the server: 'paceline down'.");
  if (auto ok = is_off ? check_off(state, id) : Result<void>{}; !ok) return fail(ok.error());
  const std::string off_by = is_off ? by : std::string();
  auto gone = is_missed(state, id) ? ways_.book.remove_known(id, now, off_by)
                                   : ways_.book.remove(id, now, off_by);
  if (!gone) return gone;
  if (ways_.cut) ways_.cut(id);
  spdlog::info("{} removed node {}{}.", by, id, is_off ? ", whose machine is off" : "");
  if (is_off && ways_.count_off && state.find_node(id) != nullptr) {
    if (auto counted = ways_.count_off(id, by); !counted) return fail(counted.error());
  }
  return gone;
}

}  // namespace paceline
