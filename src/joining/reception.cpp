#include "joining/reception.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

// Errors: not_found, but for a node that was removed before, of whose machine more is known now.
Result<JoinedNode> take_from_book(NodeBook& book, const Reception::Removal& removal) {
  const auto known = book.nodes().find(removal.node);
  if (removal.is_off && known != book.nodes().end() && known->second.removed_at)
    return known->second;
  return book.remove(removal.node, removal.now);
}

// What the node is heard to do shows that its machine isn't off. Errors: conflict.
Result<void> check_off(const State& state, const std::string& id) {
  const Node* node = state.find_node(id);
  if (node == nullptr || !node->up) return {};
  return fail(ErrorCode::conflict, fmt::format("Node '{}' is up, so its machine isn't off.", id),
              "Turn it off first and wait until it counts as down; or leave out --is-off.");
}

}  // namespace

bool Reception::is_own(std::string_view node) const {
  return std::ranges::find(ways_.own_nodes, node) != ways_.own_nodes.end();
}

Result<std::uint64_t> Reception::join(const Joining& joining, const Issue& issue) const {
  const auto& [digest, as, now] = joining;
  if (is_own(as.id))
    return fail(ErrorCode::conflict,
                fmt::format("The server's own machine is the node '{}'.", as.id),
                "Give this machine another name: --node NAME.");
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
  auto gone = take_from_book(ways_.book, removal);
  if (!gone) return gone;
  if (ways_.cut) ways_.cut(id);
  spdlog::info("{} removed node {}{}.", by, id, is_off ? ", whose machine is off" : "");
  if (is_off && ways_.count_off && state.find_node(id) != nullptr) {
    if (auto counted = ways_.count_off(id, by); !counted) return fail(counted.error());
  }
  return gone;
}

}  // namespace paceline
