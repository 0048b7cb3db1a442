#include "faults/node_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace paceline::faults {

void NodeWatch::wrong(std::string what) {
  scene_.ledger.wrong(scene_.queue.now(), std::move(what));
}

void NodeWatch::invited(const std::string& token, std::uint32_t uses, WallTime until) {
  tokens_[token] = {uses, until, false, {}};
}

void NodeWatch::revoked(const std::string& token) { tokens_[token].revoked = true; }

void NodeWatch::removed(const std::string& node) {
  nodes_[node].removed = true;
  nodes_[node].in_doubt = false;
}

void NodeWatch::removal_in_doubt(const std::string& node) { nodes_[node].in_doubt = true; }

void NodeWatch::joined(const std::string& token, const Newcomer& as, std::uint64_t serial,
                       WallTime servers) {
  const auto known = tokens_.find(token);
  if (known == tokens_.end()) return wrong(as.id + " joins by a token that nobody gave it");
  Token& by = known->second;
  const bool again = !by.by.emplace(as.id, as.key).second;
  if (by.revoked || servers >= by.until) wrong(as.id + " joins by an invitation that is over");
  if (by.by.size() > by.uses) wrong(as.id + " joins by an invitation that is used up");
  Held& node = nodes_[as.id];
  const bool same = again && node.serial == serial && node.key == as.key;
  if (!same && serial <= node.serial)
    wrong(fmt::format("identity {} of {} is given twice", serial, as.id));
  if (!same && node.serial != 0 && !node.removed && !node.in_doubt)
    wrong(as.id + " is a node already, and another one joins as it");
  scene_.ledger.note(again ? "node joins, told again" : "node joins", as.id);
  node = {serial, as.key, false, by.until == WallTime::max()};
}

void NodeWatch::refused(const std::string& node, std::uint64_t serial) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  const Held& held = known->second;
  if (held.serial == serial && !held.removed && !held.in_doubt)
    wrong(node + " is refused, and is a node");
}

void NodeWatch::greeted(const std::string& node, std::string_view machine, bool another_is_there) {
  scene_.ledger.note("node greeted", machine);
  if (another_is_there)
    wrong(fmt::format("{} speaks as {}, and another one is there", machine, node));
}

void NodeWatch::heard(const std::string& node, std::uint64_t serial) {
  const Held& held = nodes_[node];
  if (held.in_doubt) return;
  if (held.removed) wrong(node + " was removed, and is heard");
  if (held.serial != serial) wrong(fmt::format("{} is heard by its identity {}", node, serial));
}

}  // namespace paceline::faults
