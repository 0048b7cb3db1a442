#include "joining/node_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trust/authority.hpp"
#include "trust/certificate.hpp"

namespace paceline {
namespace {

// No certificate of a node holds for longer after it was removed.
constexpr Duration kRemembered = kCertificateLifetime + std::chrono::hours{24};
constexpr std::string_view kAnotherToken =
    "Ask the server's administrator for another: 'paceline node invite'.";

// It was removed, and no certificate of it holds.
bool is_past(const JoinedNode& node, WallTime now) {
  return node.removed_at && *node.removed_at + kRemembered < now;
}

void forget_past(NodeBook::Nodes& nodes, WallTime now) {
  std::erase_if(nodes, [&](const auto& each) { return is_past(each.second, now); });
}

bool is_removed(const NodeBook::Nodes::value_type& each) {
  return each.second.removed_at.has_value();
}

// Errors: conflict.
Result<void> check_room(const NodeBook::Nodes& nodes) {
  if (nodes.size() < NodeBook::kNodesMax || std::ranges::any_of(nodes, is_removed)) return {};
  return fail(ErrorCode::conflict, fmt::format("There are {} nodes.", nodes.size()),
              "Remove those that are gone: 'paceline node remove NAME'.");
}

// Makes room for another name, where there is none. REQUIRES: check_room().
void make_room(NodeBook::Pages& pages) {
  if (pages.nodes.size() < NodeBook::kNodesMax) return;
  const auto oldest = std::ranges::min_element(pages.nodes, {}, [](const auto& each) {
    return each.second.removed_at.value_or(WallTime::max());
  });
  pages.last_forgotten = std::max(pages.last_forgotten, oldest->second.serial);
  pages.nodes.erase(oldest);
}

tl::unexpected<Error> taken(std::string_view id) {
  return fail(ErrorCode::conflict, fmt::format("A node '{}' joined already.", id),
              fmt::format("If that machine is gone: 'paceline node remove {}'; else give this one "
                          "another name: --node NAME.",
                          id));
}

}  // namespace

NodeBook::NodeBook(Pages pages, Keep keep) : keep_(std::move(keep)), pages_(std::move(pages)) {
  index();
}

void NodeBook::index() {
  by_digest_.clear();
  for (const auto& [id, invitation] : pages_.invitations) by_digest_.emplace(invitation.digest, id);
}

Result<void> NodeBook::become(Pages next) {
  if (auto kept = keep_(next); !kept) return kept;
  pages_ = std::move(next);
  index();
  return {};
}

Result<Invitation> NodeBook::invite(Invitation invitation) {
  Pages next = pages_;
  std::erase_if(next.invitations, [&](const auto& each) {
    return each.second.expires_at + kToldExpired < invitation.made_at;
  });
  if (next.invitations.size() >= kInvitationsMax)
    return fail(ErrorCode::conflict, fmt::format("There are {} invitations.", kInvitationsMax),
                "Revoke some: 'paceline node invitations' shows them.");
  invitation.id = ++next.last_invitation;
  next.invitations.emplace(invitation.id, invitation);
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return invitation;
}

Result<Invitation> NodeBook::revoke(std::uint32_t id) {
  Pages next = pages_;
  auto found = next.invitations.extract(id);
  if (!found)
    return fail(ErrorCode::not_found, fmt::format("There is no invitation {}.", id),
                "'paceline node invitations' shows them.");
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return std::move(found.mapped());
}

Result<const Invitation*> NodeBook::invitation(std::string_view digest, WallTime now) const {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end())
    return fail(ErrorCode::forbidden,
                "The server doesn't know this join token: it was revoked, or is another server's.",
                std::string(kAnotherToken));
  const Invitation& invitation = pages_.invitations.at(found->second);
  if (invitation.expires_at > now) return &invitation;
  return fail(ErrorCode::forbidden,
              fmt::format("This join token expired at {}.", utc_text(invitation.expires_at)),
              std::string(kAnotherToken));
}

// The answer to its first request may have been lost on the way.
bool NodeBook::repeats(const Invitation& invitation, const Newcomer& newcomer) const {
  const auto there = pages_.nodes.find(newcomer.id);
  return there != pages_.nodes.end() && !there->second.removed_at && there->second.as == newcomer &&
         there->second.invitation == invitation.id;
}

Result<void> NodeBook::may_be_called(const Newcomer& newcomer) const {
  for (const auto& [id, node] : pages_.nodes) {
    if (node.removed_at) continue;
    if (id == newcomer.id) return taken(id);
    if (!newcomer.machine.empty() && node.as.machine == newcomer.machine)
      return fail(ErrorCode::conflict, fmt::format("This machine joined already, as '{}'.", id),
                  fmt::format("Its agent goes on with 'paceline agent'. To give it another name: "
                              "'paceline node remove {}' first.",
                              id));
  }
  return check_room(pages_.nodes);
}

Result<std::uint64_t> NodeBook::may_join(std::string_view digest, const Newcomer& newcomer,
                                         WallTime now) const {
  const auto by = invitation(digest, now);
  if (!by) return fail(by.error());
  const auto there = pages_.nodes.find(newcomer.id);
  if (repeats(**by, newcomer)) return there->second.serial;
  if ((*by)->uses_left == 0)
    return fail(ErrorCode::forbidden, "This join token was used up.", std::string(kAnotherToken));
  if (auto free = may_be_called(newcomer); !free) return fail(std::move(free.error()));
  return (there == pages_.nodes.end() ? pages_.last_forgotten : there->second.serial) + 1;
}

Result<std::uint64_t> NodeBook::join(std::string_view digest, const Newcomer& newcomer,
                                     WallTime now) {
  const auto serial = may_join(digest, newcomer, now);
  if (!serial) return serial;
  const Invitation& by = **invitation(digest, now);
  if (repeats(by, newcomer)) return serial;
  Pages next = pages_;
  forget_past(next.nodes, now);
  const auto before = next.nodes.find(newcomer.id);
  const bool same = before != next.nodes.end() && before->second.as.machine == newcomer.machine;
  std::string boot = same ? before->second.boot : std::string();
  if (before == next.nodes.end()) make_room(next);
  --next.invitations.at(by.id).uses_left;
  next.nodes.insert_or_assign(newcomer.id, JoinedNode{.as = newcomer,
                                                      .serial = *serial,
                                                      .invitation = by.id,
                                                      .joined_at = now,
                                                      .place = by.place,
                                                      .boot = std::move(boot)});
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return serial;
}

Result<JoinedNode> NodeBook::remove(std::string_view id, WallTime now, std::string_view off_by) {
  Pages next = pages_;
  forget_past(next.nodes, now);
  return remove_from(std::move(next), id, now, off_by);
}

// No identity of that name is known, so the first number is taken for one that a certificate may have.
Result<JoinedNode> NodeBook::remove_known(std::string_view id, WallTime now,
                                          std::string_view off_by) {
  Pages next = pages_;
  forget_past(next.nodes, now);
  if (!next.nodes.contains(id)) {
    if (auto room = check_room(next.nodes); !room) return fail(std::move(room.error()));
    make_room(next);
    JoinedNode node{
        .as = {.id = std::string(id)}, .serial = next.last_forgotten + 1, .joined_at = now};
    next.nodes.emplace(id, std::move(node));
  }
  return remove_from(std::move(next), id, now, off_by);
}

Result<JoinedNode> NodeBook::remove_from(Pages next, std::string_view id, WallTime now,
                                         std::string_view off_by) {
  const auto found = next.nodes.find(id);
  if (found == next.nodes.end() || (found->second.removed_at && off_by.empty()))
    return fail(ErrorCode::not_found,
                found == next.nodes.end() ? fmt::format("No node '{}' joined this server.", id)
                                          : fmt::format("Node '{}' was removed already.", id),
                "'paceline nodes' shows them.");
  found->second.removed_at = found->second.removed_at.value_or(now);
  found->second.off_by = off_by.substr(0, kOffByMax);
  const auto removed = found->second;
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return removed;
}

Result<void> NodeBook::heard(std::string_view id, std::string_view boot) {
  const auto known = pages_.nodes.find(id);
  if (known == pages_.nodes.end() || known->second.boot == boot) return {};
  Pages next = pages_;
  next.nodes.find(id)->second.boot = boot;
  return become(std::move(next));
}

Result<KnownNode> NodeBook::known(std::string_view id, std::uint64_t serial) const {
  const auto found = pages_.nodes.find(id);
  const auto refuse = [](std::string why) {
    return fail(ErrorCode::forbidden, std::move(why),
                "To have it here, let it join: 'paceline node invite'.");
  };
  if (found == pages_.nodes.end())
    return refuse(fmt::format("The server doesn't know the node '{}'.", id));
  const JoinedNode& node = found->second;
  if (node.removed_at)
    return refuse(fmt::format("Node '{}' was removed at {}.", id, utc_text(*node.removed_at)));
  if (serial != node.serial)
    return refuse(fmt::format("Another machine has joined as '{}' since this one did.", id));
  return KnownNode{std::string(id), serial, node.place, node.boot};
}

}  // namespace paceline
