#include "api/context.hpp"
#include "wire/node_status_json.hpp"

namespace paceline {

void add_node_routes(Router& router, const SharedContext& context) {
  router.add("GET", "/v1/nodes", answering([context](const ApiRequest&) -> Result<std::string> {
               JsonWriter json;
               json.begin_object().key("nodes").begin_array();
               for (const auto& node : context->state().nodes()) write_node_status(json, node);
               json.end_array().end_object();
               return json.take();
             }));
}

}  // namespace paceline
