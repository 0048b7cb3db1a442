// The connections of nodes that dial in: handed to the agents' door once the node is known.
#include <fmt/format.h>

#include "api/context.hpp"
#include "link/agent_door.hpp"

namespace paceline {
namespace {

constexpr std::size_t kToldVersionMax = 64;

using Serve = Result<std::shared_ptr<ServerStream>> (AgentDoor::*)(const KnownNode&,
                                                                   std::string_view);

struct LinkKind {
  std::string_view protocol;
  Serve serve;
};
constexpr LinkKind kWords{"paceline-link", &AgentDoor::words};
constexpr LinkKind kBytes{"paceline-bytes", &AgentDoor::bytes};

Result<std::string_view> version_of(const HttpRequest& request, const LinkKind& kind) {
  if (request.header("Upgrade") != kind.protocol)
    return fail(ErrorCode::invalid, "Dialling in is not a plain request.",
                fmt::format("Send 'Connection: Upgrade' and 'Upgrade: {}'.", kind.protocol));
  const auto version = request.header("Paceline-Version");
  if (!version.empty() && version.size() <= kToldVersionMax) return version;
  return fail(ErrorCode::invalid, "An agent says which version it is.",
              "Send 'Paceline-Version: 0.1.0', in at most 64 bytes.");
}

Result<std::shared_ptr<ServerStream>> far_end(const ApiContext& context, const HttpRequest& request,
                                              const LinkKind& kind) {
  const auto node = context.node(request.peer);
  if (!node) return fail(node.error());
  const auto version = version_of(request, kind);
  if (!version) return fail(version.error());
  auto* agents = context.options.remote->agents;
  if (agents == nullptr)
    return fail(ErrorCode::unavailable, "The server takes no nodes now.", "Try again in a moment.",
                Retry::may_help);
  return (agents->*kind.serve)(*node, *version);
}

}  // namespace

void add_link_routes(Routes& routes, const SharedContext& context) {
  const auto dialled = [&](const LinkKind& kind) -> Handler {
    return [context, kind](const std::shared_ptr<Exchange>& exchange) {
      auto far = far_end(*context, exchange->request(), kind);
      if (!far) {
        context->turned_away(exchange->request().peer, far.error());
        return exchange->refuse(far.error());
      }
      exchange->tunnel(std::string(kind.protocol), std::move(*far));
    };
  };
  routes.add("GET", "/v1/link", Action::be_a_node, dialled(kWords));
  routes.add("GET", "/v1/bytes", Action::be_a_node, dialled(kBytes));
}

}  // namespace paceline
