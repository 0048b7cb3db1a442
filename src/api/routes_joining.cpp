// Machines that become nodes: they are invited, join by a token, renew their certificates, and are
// removed.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "api/join_wish.hpp"
#include "api/place_json.hpp"
#include "base/utf8.hpp"
#include "http/query.hpp"
#include "joining/reception.hpp"
#include "link/agent_door.hpp"
#include "trust/authority.hpp"
#include "trust/token.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

constexpr Duration kUsualLifetime = std::chrono::hours{1};
constexpr Duration kInvitedMax = std::chrono::hours{365 * 24};

// What a route of machines needs of the server.
Result<const RemoteAccess*> remote(const ApiContext& context) {
  const auto& remote = context.options.remote;
  if (!remote || remote->nodes == nullptr || remote->issuer == nullptr) return fail(joins_nobody());
  return &*remote;
}

// ---- invitations ----

void write_invitation(JsonWriter& json, const Invitation& invitation, WallTime now) {
  json.field("id", invitation.id).field("made_by", invitation.made_by);
  json.field("made_at", invitation.made_at).field("expires_at", invitation.expires_at);
  json.field("expired", invitation.expires_at <= now).field("uses_left", invitation.uses_left);
  write_place(json, invitation.place);
}

std::string invitation_text(const Invitation& invitation, WallTime now) {
  JsonWriter json;
  json.begin_object();
  write_invitation(json, invitation, now);
  json.end_object();
  return json.take();
}

Result<Invitation> read_invitation(const HttpRequest& request, WallTime now) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  Invitation invitation{.made_at = now, .uses_left = 1};
  Duration lifetime = kUsualLifetime;
  ObjectReader reader(*json, "body");
  reader.seconds("expires_seconds", lifetime);
  reader.whole("uses", invitation.uses_left, 1, std::uint32_t{NodeBook::kNodesMax});
  read_place(reader, invitation.place);
  if (lifetime <= Duration{} || lifetime > kInvitedMax)
    reader.refuse({ErrorCode::invalid, "An invitation holds for at most a year.",
                   "Make one for a shorter time.", Retry::useless});
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  invitation.expires_at = now + lifetime;
  return invitation;
}

Result<HttpResponse> invite(ApiContext& context, const HttpRequest& request, const Principal& by) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  auto wish = read_invitation(request, context.wall_now());
  if (!wish) return fail(std::move(wish.error()));
  const auto secret = Token::make(TokenKind::join, (*server)->authority);
  wish->digest = to_hex(secret.digest());
  wish->made_by = by.user;
  const auto made = (*server)->nodes->invite(std::move(*wish));
  if (!made) return fail(made.error());
  spdlog::info("{} made invitation {} for {} node{}.", by.user, made->id, made->uses_left,
               made->uses_left == 1 ? "" : "s");
  JsonWriter json;
  json.begin_object();
  write_invitation(json, *made, made->made_at);
  json.field("token", secret.text()).field("address", (*server)->address).end_object();
  return HttpResponse{.status = 201, .body = json.take()};
}

Result<std::string> list_invitations(const ApiContext& context) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  JsonWriter json;
  json.begin_object().key("invitations").begin_array();
  for (const auto& [id, invitation] : (*server)->nodes->invitations())
    json.raw(invitation_text(invitation, context.wall_now()));
  json.end_array().end_object();
  return json.take();
}

Result<std::string> revoke_invitation(const ApiContext& context, const HttpRequest& request,
                                      const Principal& by) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  const auto id = parse_whole(request.ids.at(0), 1, std::numeric_limits<std::uint32_t>::max());
  if (!id)
    return fail(ErrorCode::invalid, "An invitation is named by its number.",
                "'paceline node invitations' shows them.");
  const auto gone = (*server)->nodes->revoke(static_cast<std::uint32_t>(*id));
  if (!gone) return fail(gone.error());
  spdlog::info("{} revoked invitation {}.", by.user, gone->id);
  return invitation_text(*gone, context.wall_now());
}

// ---- joining ----

struct NodeIdentity {
  std::string_view node;
  std::uint64_t serial = 0;
};

Result<std::string> issue(const RemoteAccess& server, const NodeIdentity& identity,
                          std::string_view request, WallTime now) {
  const auto certificate = server.issuer->issue_node(
      {.request = request, .node = identity.node, .serial = identity.serial}, now);
  if (!certificate) return fail(certificate.error());
  JsonWriter json;
  json.begin_object().field("node", identity.node).field("serial", identity.serial);
  json.field("certificate", *certificate).field("authority", server.issuer->certificate());
  json.end_object();
  return json.take();
}

Reception reception_of(const RemoteAccess& server) {
  Reception::Ways ways{.book = *server.nodes, .own_nodes = server.own_nodes};
  if (server.agents != nullptr)
    ways.cut = [agents = server.agents](std::string_view node) { agents->cut(node); };
  ways.count_off = server.count_off;
  return Reception(std::move(ways));
}

Result<std::string> join(const ApiContext& context, const HttpRequest& request) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  const auto shown = bearer_token(request);
  const auto token = Token::parse(shown.value_or(""), TokenKind::join);
  if (!token) return fail(token.error());
  const auto wish = read_join(request.body);
  if (!wish) return fail(wish.error());
  const auto& newcomer = wish->newcomer;
  const auto now = context.wall_now();
  std::string answer;
  const auto make = [&](std::uint64_t number) -> Result<void> {
    auto issued = issue(**server, {newcomer.id, number}, wish->request, now);
    if (!issued) return fail(std::move(issued.error()));
    answer = std::move(*issued);
    return {};
  };
  const auto serial =
      reception_of(**server).join({to_hex(token->digest()), newcomer, now}, context.state(), make);
  if (!serial) return fail(serial.error());
  context.controller.node_joined(newcomer.id);
  spdlog::info("Node {} joined from {} (identity {}, invitation {}, version {}).", newcomer.id,
               request.peer.origin, *serial,
               (*server)->nodes->nodes().find(newcomer.id)->second.invitation,
               printable(wish->version));
  return answer;
}

Result<std::string> renew(const ApiContext& context, const HttpRequest& request) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  const auto node = context.node(request.peer);
  if (!node) return fail(node.error());
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  std::string wish;
  ObjectReader reader(*json, "body");
  reader.require({"request"}).text("request", wish, kCertificateRequestMax);
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  auto issued = issue(**server, {node->id, node->serial}, wish, context.wall_now());
  if (issued) spdlog::info("Node {} renewed its certificate.", node->id);
  return issued;
}

// ---- removing ----

Result<std::string> take_away(const ApiContext& context, const Reception::Removal& removal) {
  const auto server = remote(context);
  if (!server) return fail(server.error());
  const auto gone = reception_of(**server).remove(removal, context.state());
  if (!gone) return fail(gone.error());
  context.controller.node_left(removal.node);
  JsonWriter json;
  json.begin_object().field("name", removal.node).field("serial", gone->serial);
  json.field("joined_at", gone->joined_at).field("removed_at", gone->removed_at).end_object();
  return json.take();
}

Result<std::string> remove_node(const ApiContext& context, const HttpRequest& request,
                                const Principal& by) {
  bool is_off = false;
  QueryReader query(request);
  query.flag("is_off", is_off);
  if (auto read = query.finish(); !read) return fail(std::move(read.error()));
  return take_away(context, {request.ids.at(0), by.user, is_off, context.wall_now()});
}

}  // namespace

void add_joining_routes(Routes& routes, const SharedContext& context) {
  const auto alone = [&](auto route) {
    return answering(
        [context, route](const HttpRequest& request) { return route(*context, request); });
  };
  routes.add("GET", "/v1/invitations", Action::invite_nodes,
             answering([context](const HttpRequest&) { return list_invitations(*context); }));
  routes.add("POST", "/v1/invitations", Action::invite_nodes,
             [context](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
               auto made = invite(*context, exchange->request(), by);
               if (!made) return exchange->refuse(made.error());
               exchange->reply(std::move(*made));
             });
  routes.add("DELETE", "/v1/invitations/{invitation}", Action::invite_nodes,
             answering([context](const HttpRequest& request, const Principal& by) {
               return revoke_invitation(*context, request, by);
             }));
  routes.add("POST", "/v1/join", Action::join, answering([context](const HttpRequest& request) {
               auto joined = join(*context, request);
               if (!joined) context->turned_away(request.peer, joined.error());
               return joined;
             }));
  routes.add("POST", "/v1/identity", Action::be_a_node, alone(renew));
  routes.add("DELETE", "/v1/nodes/{node}", Action::remove_nodes,
             answering([context](const HttpRequest& request, const Principal& by) {
               return remove_node(*context, request, by);
             }));
}

}  // namespace paceline
