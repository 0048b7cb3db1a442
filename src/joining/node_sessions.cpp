#include "joining/node_sessions.hpp"

#include <fmt/format.h>

#include <utility>

namespace paceline {
namespace {

Error another_name(const KnownNode& node, const std::string& said) {
  return {ErrorCode::conflict,
          fmt::format("This machine joined as '{}', but its agent calls it '{}'.", node.id, said),
          "Start the agent without --node, or with the name that it joined by.", Retry::useless};
}

std::string machine_of(const std::string& address, const std::string& boot) {
  return fmt::format("{} (boot {})", address, boot);
}

}  // namespace

std::optional<Session> NodeSessions::dialled(Session session, KnownNode node,
                                             std::string_view version, Time now) {
  Entry& entry = nodes_[node.id];
  entry.version = version;
  entry.last_heard = now;
  boots_.try_emplace(node.id, Boot{node.boot, began_});
  sessions_.emplace(session, Dialled{std::move(node)});
  return std::exchange(entry.silent, session);
}

Result<NodeSessions::Greeted> NodeSessions::greet(Session session, Hello& hello, Time now) {
  Dialled& mine = sessions_.at(session);
  if (hello.node.name != mine.node.id) return fail(another_name(mine.node, hello.node.name));
  if (hello.boot_id.empty()) return fail(ErrorCode::data, "A Hello names no boot of its machine.");
  if (auto one = check_machine(session, hello); !one) return fail(std::move(one.error()));
  if (auto same = check_boot(mine, hello, now); !same) return fail(std::move(same.error()));
  put_in_place(hello.node, mine.node.place);
  Entry& entry = nodes_.find(mine.node.id)->second;
  if (entry.greeted == session) return Greeted{};
  Boot& boot = boots_.find(mine.node.id)->second;
  if (boot.id != hello.boot_id)
    if (auto kept = keep_boot(mine.node.id, hello.boot_id); !kept)
      return fail(std::move(kept.error()));
  boot = {hello.boot_id, now};
  mine.boot_id = hello.boot_id;
  mine.address = hello.node.address;
  entry.silent.reset();
  return Greeted{true, std::exchange(entry.greeted, session)};
}

Result<void> NodeSessions::keep_boot(const std::string& node, const std::string& boot) const {
  const auto kept = keep_ ? keep_(node, boot) : Result<void>{};
  if (kept) return {};
  return fail(
      ErrorCode::unavailable,
      fmt::format(
          "The server can't write down from which boot of its machine node '{}' is heard: {}", node,
          kept.error().message),
      kept.error().hint, Retry::may_help);
}

// Only time tells a machine that was started anew from a copy of one that has lost its connection.
Result<void> NodeSessions::check_boot(const Dialled& mine, const Hello& hello, Time now) const {
  const Boot& known = boots_.find(mine.node.id)->second;
  if (known.id.empty() || known.id == hello.boot_id || now >= known.heard + kOtherBootAfter)
    return {};
  return fail(ErrorCode::conflict,
              fmt::format("Node '{}' was heard a moment ago from another boot of its machine: {} "
                          "is not heard yet.",
                          mine.node.id, machine_of(hello.node.address, hello.boot_id)),
              "A machine that was started anew is heard in a minute. If it is a copy of another "
              "one, let it join anew with a directory of its own.",
              Retry::may_help);
}

// Of two that show one identity, the one that is heard is the node.
Result<void> NodeSessions::check_machine(Session session, const Hello& hello) const {
  const Dialled& mine = sessions_.at(session);
  const auto first = nodes_.find(mine.node.id)->second.greeted;
  if (!first || *first == session) return {};
  const Dialled& other = sessions_.at(*first);
  if (other.boot_id == hello.boot_id) return {};
  return fail(ErrorCode::conflict,
              fmt::format("Two machines show the identity of node '{}': {} is connected, {} is not "
                          "heard.",
                          mine.node.id, machine_of(other.address, other.boot_id),
                          machine_of(hello.node.address, hello.boot_id)),
              fmt::format("If one was copied from the other: 'paceline node remove {}', then let "
                          "each join anew. If this one was started anew, it is heard in a moment.",
                          mine.node.id));
}

bool NodeSessions::has_greeted(Session session) const {
  return !sessions_.at(session).boot_id.empty();
}

const KnownNode& NodeSessions::node_of(Session session) const { return sessions_.at(session).node; }

void NodeSessions::heard(Session session, Time now) {
  const std::string& node = node_of(session).id;
  nodes_.find(node)->second.last_heard = now;
  if (has_greeted(session)) boots_.find(node)->second.heard = now;
}

void NodeSessions::over(Session session) {
  Entry& entry = nodes_.find(node_of(session).id)->second;
  if (entry.greeted == session) entry.greeted.reset();
  if (entry.silent == session) entry.silent.reset();
  sessions_.erase(session);
}

std::vector<Session> NodeSessions::of(std::string_view node) const {
  std::vector<Session> all;
  const Entry* entry = find(node);
  if (entry == nullptr) return all;
  for (const auto& session : {entry->greeted, entry->silent})
    if (session) all.push_back(*session);
  return all;
}

void NodeSessions::forget(std::string_view node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) nodes_.erase(found);
}

const NodeSessions::Entry* NodeSessions::find(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace paceline
