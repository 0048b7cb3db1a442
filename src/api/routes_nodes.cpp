#include "api/context.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {

void add_node_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/nodes", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               JsonWriter json;
               json.begin_object().key("nodes").begin_array();
               for (const auto& node : context->state().nodes()) {
                 if (!node.retired) write_node_status(json, context->state(), node);
               }
               json.end_array().end_object();
               return json.take();
             }));
}

}  // namespace paceline
