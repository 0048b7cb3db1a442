#include "api/node_book_file.hpp"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/book_file.hpp"
#include "api/place_json.hpp"
#include "trust/certificate_name.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

using Pages = NodeBook::Pages;

constexpr std::size_t kUserBytesMax = 256;
constexpr std::size_t kIdBytesMax = 63;
constexpr std::size_t kBootBytesMax = 256;
constexpr std::size_t kOffByBytesMax =
    4 * NodeBook::kOffByMax;  // cut in a character, that one is written as another
constexpr auto kIdMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kSerialMax = std::numeric_limits<std::int64_t>::max();

tl::unexpected<Error> stands_wrongly(std::string_view what) {
  return fail(ErrorCode::invalid, fmt::format("{} stands there wrongly.", what));
}

Result<Invitation> read_kept_invitation(const Json& json) {
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

Result<JoinedNode> read_joined_node(const Json& json) {
  JoinedNode node;
  std::optional<WallTime> joined_at;
  ObjectReader reader(json, "a node");
  reader.require({"id", "key", "serial", "invitation", "joined_at"});
  reader.text("id", node.as.id, kIdBytesMax).text("machine", node.as.machine, kMachineMax);
  reader.text("key", node.as.key, kDigestBytes).whole("serial", node.serial, 1, kSerialMax);
  reader.whole("invitation", node.invitation, 0, kIdMax).time("joined_at", joined_at);
  reader.time("removed_at", node.removed_at).text("off_by", node.off_by, kOffByBytesMax);
  reader.text("boot", node.boot, kBootBytesMax);
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
  json.field("removed_at", node.removed_at).field("boot", node.boot);
  if (!node.off_by.empty()) json.field("off_by", node.off_by);
  write_place(json, node.place);
  json.end_object();
}

Result<void> take_invitations(const Json& list, Pages& pages) {
  std::set<std::string> digests;
  for (const auto& each : list) {
    auto read = read_kept_invitation(each);
    if (!read) return fail(std::move(read.error()));
    const auto id = read->id;
    const bool fresh = digests.insert(read->digest).second;
    if (!fresh || id > pages.last_invitation ||
        !pages.invitations.emplace(id, std::move(*read)).second)
      return stands_wrongly(fmt::format("Invitation {}", id));
  }
  return {};
}

Result<void> take_nodes(const Json& list, Pages& pages) {
  for (const auto& each : list) {
    auto read = read_joined_node(each);
    if (!read) return fail(std::move(read.error()));
    const auto id = read->as.id;
    if (!is_node_id(id) || !pages.nodes.emplace(id, std::move(*read)).second)
      return stands_wrongly("A node");
  }
  return {};
}

Result<void> read_pages(const Json& json, Pages& pages) {
  ObjectReader reader(json, "the file");
  reader.require({"last_invitation", "invitations", "nodes"});
  reader.whole("last_invitation", pages.last_invitation, 0, kIdMax);
  reader.whole("last_forgotten", pages.last_forgotten, 0, kSerialMax);
  const auto* invitations = reader.find("invitations");
  const auto* nodes = reader.find("nodes");
  if (auto ok = reader.finish(); !ok) return ok;
  if (!invitations->is_array() || !nodes->is_array())
    return fail(ErrorCode::invalid, "'invitations' and 'nodes' in the file must be lists.");
  if (auto ok = take_invitations(*invitations, pages); !ok) return ok;
  return take_nodes(*nodes, pages);
}

std::string text_of(const Pages& pages) {
  JsonWriter json;
  json.begin_object().field("last_invitation", pages.last_invitation);
  if (pages.last_forgotten > 0) json.field("last_forgotten", pages.last_forgotten);
  json.key("invitations").begin_array();
  for (const auto& [id, invitation] : pages.invitations) write(json, invitation);
  json.end_array().key("nodes").begin_array();
  for (const auto& [id, node] : pages.nodes) write(json, node);
  json.end_array().end_object();
  return json.take();
}

}  // namespace

Result<NodeBook> open_node_book(std::filesystem::path path) {
  const BookFile file(
      std::move(path),
      {.what = "nodes", .remedy = "invite the machines anew: 'paceline node invite'"});
  Pages pages;
  const auto read = file.load([&](const Json& json) { return read_pages(json, pages); });
  if (!read) return fail(read.error());
  return NodeBook(std::move(pages), [file](const Pages& next) { return file.save(text_of(next)); });
}

}  // namespace paceline
