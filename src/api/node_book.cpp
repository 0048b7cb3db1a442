#include "api/node_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/place_json.hpp"
#include "model/node.hpp"
#include "trust/authority.hpp"
#include "trust/certificate_name.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::size_t kUserBytesMax = 256;
constexpr std::size_t kIdBytesMax = 63;
constexpr auto kIdMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kSerialMax = std::numeric_limits<std::int64_t>::max();
// No certificate of a node holds for longer after it was removed.
constexpr Duration kRemembered = kCertificateLifetime + std::chrono::hours{24};
constexpr std::string_view kAnotherToken =
    "Ask the server's administrator for another: 'paceline node invite'.";

tl::unexpected<Error> wrong(std::string_view what) {
  return fail(ErrorCode::invalid, fmt::format("{} stands there wrongly.", what));
}

Result<Invitation> read_invitation(const Json& json) {
  Invitation invitation;
  std::optional<WallTime> made_at, expires_at;
  ObjectReader reader(json, "an invitation");
  reader.require({"id", "digest", "made_at", "expires_at", "uses_left"});
  reader.whole("id", invitation.id, 1, kIdMax).text("digest", invitation.digest, kDigestBytes);
  reader.text("made_by", invitation.made_by, kUserBytesMax);
  reader.time("made_at", made_at).time("expires_at", expires_at);
  reader.whole("uses_left", invitation.uses_left, 0, kIdMax);
  read_place(reader, invitation.place);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  invitation.made_at = *made_at;
  invitation.expires_at = *expires_at;
  return invitation;
}

Result<JoinedNode> read_node(const Json& json) {
  JoinedNode node;
  std::optional<WallTime> joined_at;
  ObjectReader reader(json, "a node");
  reader.require({"id", "key", "serial", "invitation", "joined_at"});
  reader.text("id", node.as.id, kIdBytesMax).text("machine", node.as.machine, kMachineMax);
  reader.text("key", node.as.key, kDigestBytes).whole("serial", node.serial, 1, kSerialMax);
  reader.whole("invitation", node.invitation, 1, kIdMax).time("joined_at", joined_at);
  reader.time("removed_at", node.removed_at);
  read_place(reader, node.place);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  node.joined_at = *joined_at;
  return node;
}

void write(JsonWriter& json, const Invitation& invitation) {
  json.begin_object().field("id", invitation.id).field("digest", invitation.digest);
  json.field("made_by", invitation.made_by).field("made_at", invitation.made_at);
  json.field("expires_at", invitation.expires_at).field("uses_left", invitation.uses_left);
  write_place(json, invitation.place);
  json.end_object();
}

void write(JsonWriter& json, const JoinedNode& node) {
  json.begin_object().field("id", node.as.id).field("machine", node.as.machine);
  json.field("key", node.as.key).field("serial", node.serial);
  json.field("invitation", node.invitation).field("joined_at", node.joined_at);
  json.field("removed_at", node.removed_at);
  write_place(json, node.place);
  json.end_object();
}

// It was removed, and no certificate of it holds.
bool is_past(const JoinedNode& node, WallTime now) {
  return node.removed_at && *node.removed_at + kRemembered < now;
}

void forget_past(NodeBook::Nodes& nodes, WallTime now) {
  std::erase_if(nodes, [&](const auto& each) { return is_past(each.second, now); });
}

tl::unexpected<Error> taken(std::string_view id) {
  return fail(ErrorCode::conflict, fmt::format("A node '{}' joined already.", id),
              fmt::format("If that machine is gone: 'paceline node remove {}'; else give this one "
                          "another name: --node NAME.",
                          id));
}

}  // namespace

NodeBook::NodeBook(std::filesystem::path file)
    : file_(std::move(file),
            {.what = "nodes", .remedy = "invite the machines anew: 'paceline node invite'"}) {}

Result<NodeBook> NodeBook::open(std::filesystem::path file) {
  NodeBook book(std::move(file));
  const auto read = book.file_.load([&](const Json& json) { return book.read(json); });
  if (!read) return fail(read.error());
  return book;
}

Result<void> NodeBook::read(const Json& json) {
  ObjectReader reader(json, "the file");
  reader.require({"last_invitation", "invitations", "nodes"});
  reader.whole("last_invitation", last_invitation_, 0, kIdMax);
  const auto* invitations = reader.find("invitations");
  const auto* nodes = reader.find("nodes");
  if (auto ok = reader.finish(); !ok) return ok;
  if (!invitations->is_array() || !nodes->is_array())
    return fail(ErrorCode::invalid, "'invitations' and 'nodes' in the file must be lists.");
  if (auto ok = take_invitations(*invitations); !ok) return ok;
  return take_nodes(*nodes);
}

Result<void> NodeBook::take_invitations(const Json& list) {
  for (const auto& each : list) {
    auto read = read_invitation(each);
    if (!read) return fail(std::move(read.error()));
    const auto id = read->id;
    const bool fresh = by_digest_.emplace(read->digest, id).second;
    if (!fresh || id > last_invitation_ || !invitations_.emplace(id, std::move(*read)).second)
      return wrong(fmt::format("Invitation {}", id));
  }
  return {};
}

Result<void> NodeBook::take_nodes(const Json& list) {
  for (const auto& each : list) {
    auto read = read_node(each);
    if (!read) return fail(std::move(read.error()));
    const auto id = read->as.id;
    if (!is_node_id(id) || !nodes_.emplace(id, std::move(*read)).second) return wrong("A node");
  }
  return {};
}

std::string NodeBook::text() const {
  JsonWriter json;
  json.begin_object().field("last_invitation", last_invitation_).key("invitations").begin_array();
  for (const auto& [id, invitation] : invitations_) write(json, invitation);
  json.end_array().key("nodes").begin_array();
  for (const auto& [id, node] : nodes_) write(json, node);
  json.end_array().end_object();
  return json.take();
}

Result<void> NodeBook::become(NodeBook next) {
  if (auto kept = file_.save(next.text()); !kept) return kept;
  *this = std::move(next);
  return {};
}

Result<Invitation> NodeBook::invite(Invitation invitation) {
  NodeBook next = *this;
  std::erase_if(next.invitations_, [&](const auto& each) {
    const bool gone = each.second.expires_at + kToldExpired < invitation.made_at;
    if (gone) next.by_digest_.erase(each.second.digest);
    return gone;
  });
  if (next.invitations_.size() >= kInvitationsMax)
    return fail(ErrorCode::conflict, fmt::format("There are {} invitations.", kInvitationsMax),
                "Revoke some: 'paceline node invitations' shows them.");
  invitation.id = ++next.last_invitation_;
  next.by_digest_.emplace(invitation.digest, invitation.id);
  next.invitations_.emplace(invitation.id, invitation);
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return invitation;
}

Result<Invitation> NodeBook::revoke(std::uint32_t id) {
  NodeBook next = *this;
  auto found = next.invitations_.extract(id);
  if (!found)
    return fail(ErrorCode::not_found, fmt::format("There is no invitation {}.", id),
                "'paceline node invitations' shows them.");
  next.by_digest_.erase(found.mapped().digest);
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return std::move(found.mapped());
}

Result<const Invitation*> NodeBook::invitation(std::string_view digest, WallTime now) const {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end())
    return fail(ErrorCode::forbidden,
                "The server doesn't know this join token: it was revoked, or is another server's.",
                std::string(kAnotherToken));
  const Invitation& invitation = invitations_.at(found->second);
  if (invitation.expires_at > now) return &invitation;
  return fail(ErrorCode::forbidden,
              fmt::format("This join token expired at {}.", utc_text(invitation.expires_at)),
              std::string(kAnotherToken));
}

// The answer to its first request may have been lost on the way.
bool NodeBook::repeats(const Invitation& invitation, const Newcomer& newcomer) const {
  const auto there = nodes_.find(newcomer.id);
  return there != nodes_.end() && !there->second.removed_at && there->second.as == newcomer &&
         there->second.invitation == invitation.id;
}

Result<void> NodeBook::may_be_called(const Newcomer& newcomer, WallTime now) const {
  for (const auto& [id, node] : nodes_) {
    if (node.removed_at) continue;
    if (id == newcomer.id) return taken(id);
    if (!newcomer.machine.empty() && node.as.machine == newcomer.machine)
      return fail(ErrorCode::conflict, fmt::format("This machine joined already, as '{}'.", id),
                  fmt::format("Its agent goes on with 'paceline agent'. To give it another name: "
                              "'paceline node remove {}' first.",
                              id));
  }
  const auto kept = static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [&](const auto& each) { return !is_past(each.second, now); }));
  if (nodes_.contains(newcomer.id) || kept < kNodesMax) return {};
  return fail(ErrorCode::conflict,
              fmt::format("There are {} nodes, with those that were removed within a year.", kept),
              "Take the name of one that was removed: --node NAME.");
}

Result<std::uint64_t> NodeBook::may_join(std::string_view digest, const Newcomer& newcomer,
                                         WallTime now) const {
  const auto by = invitation(digest, now);
  if (!by) return fail(by.error());
  const auto there = nodes_.find(newcomer.id);
  if (repeats(**by, newcomer)) return there->second.serial;
  if ((*by)->uses_left == 0)
    return fail(ErrorCode::forbidden, "This join token was used up.", std::string(kAnotherToken));
  if (auto free = may_be_called(newcomer, now); !free) return fail(std::move(free.error()));
  return there == nodes_.end() ? 1 : there->second.serial + 1;
}

Result<std::uint64_t> NodeBook::join(std::string_view digest, const Newcomer& newcomer,
                                     WallTime now) {
  const auto serial = may_join(digest, newcomer, now);
  if (!serial) return serial;
  const Invitation& by = **invitation(digest, now);
  if (repeats(by, newcomer)) return serial;
  NodeBook next = *this;
  forget_past(next.nodes_, now);
  --next.invitations_.at(by.id).uses_left;
  next.nodes_.insert_or_assign(newcomer.id, JoinedNode{.as = newcomer,
                                                       .serial = *serial,
                                                       .invitation = by.id,
                                                       .joined_at = now,
                                                       .place = by.place});
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return serial;
}

Result<JoinedNode> NodeBook::remove(std::string_view id, WallTime now) {
  NodeBook next = *this;
  forget_past(next.nodes_, now);
  const auto found = next.nodes_.find(id);
  if (found == next.nodes_.end() || found->second.removed_at)
    return fail(ErrorCode::not_found,
                found == next.nodes_.end() ? fmt::format("No node '{}' joined this server.", id)
                                           : fmt::format("Node '{}' was removed already.", id),
                "'paceline nodes' shows them.");
  found->second.removed_at = now;
  const auto removed = found->second;
  if (auto kept = become(std::move(next)); !kept) return fail(std::move(kept.error()));
  return removed;
}

Result<KnownNode> NodeBook::known(std::string_view id, std::uint64_t serial) const {
  const auto found = nodes_.find(id);
  const auto refuse = [](std::string why) {
    return fail(ErrorCode::forbidden, std::move(why),
                "To have it here, let it join: 'paceline node invite'.");
  };
  if (found == nodes_.end())
    return refuse(fmt::format("The server doesn't know the node '{}'.", id));
  const JoinedNode& node = found->second;
  if (node.removed_at)
    return refuse(fmt::format("Node '{}' was removed at {}.", id, utc_text(*node.removed_at)));
  if (serial != node.serial)
    return refuse(fmt::format("Another machine has joined as '{}' since this one did.", id));
  return KnownNode{std::string(id), serial, node.place};
}

}  // namespace paceline
