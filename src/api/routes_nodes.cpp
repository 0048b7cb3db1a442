#include <optional>
#include <set>
#include <string_view>

#include "api/context.hpp"
#include "api/node_book.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {
namespace {

std::optional<NodeJoin> join_of(const ApiContext& context, const std::string& name) {
  const auto* book = context.options.remote ? context.options.remote->nodes : nullptr;
  if (book == nullptr) return std::nullopt;
  const auto found = book->nodes().find(name);
  if (found == book->nodes().end()) return std::nullopt;
  const auto& node = found->second;
  return NodeJoin{node.joined_at, node.serial, node.removed_at.has_value()};
}

using Names = std::set<std::string_view>;

// Those that joined, and whose agent never connected, or is away for so long that they retired.
void write_awaited(JsonWriter& json, const ApiContext& context, const Names& counted) {
  const auto* book = context.options.remote ? context.options.remote->nodes : nullptr;
  if (book == nullptr) return;
  for (const auto& [name, joined] : book->nodes()) {
    if (joined.removed_at || counted.contains(name)) continue;
    json.begin_object().field("name", name).field("joined_at", joined.joined_at);
    json.field("serial", joined.serial).end_object();
  }
}

std::string nodes_text(const ApiContext& context) {
  Names counted;
  JsonWriter json;
  json.begin_object().key("nodes").begin_array();
  for (const auto& node : context.state().nodes()) {
    if (node.retired) continue;
    counted.insert(node.spec.name);
    write_node_status(json, context.state(), node, join_of(context, node.spec.name));
  }
  json.end_array().key("awaited").begin_array();
  write_awaited(json, context, counted);
  json.end_array().end_object();
  return json.take();
}

}  // namespace

void add_node_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/nodes", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               return nodes_text(*context);
             }));
}

}  // namespace paceline
