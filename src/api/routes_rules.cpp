// How jobs are disturbed, whatever the policy (model/rules.hpp).
#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

std::string rules_text(const State& state) {
  JsonWriter json;
  const auto& after = state.rules().reclaim_after;
  json.begin_object().field("reclaim_after_seconds", after.value_or(Duration::zero()));
  json.end_object();
  return json.take();
}

Result<Rules> read_rules(const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  Rules rules;
  ObjectReader reader(*json, "body");
  reader.require({"reclaim_after_seconds"}).seconds("reclaim_after_seconds", rules.reclaim_after);
  if (auto read = reader.finish(); !read) return fail(read.error());
  return rules;
}

void set_rules(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
               const Principal& by) {
  const auto rules = read_rules(exchange->request());
  if (!rules) return exchange->refuse(rules.error());
  context->controller.set_rules(*rules, by, [context, exchange](const Result<void>& done) {
    if (!done) return exchange->refuse(done.error());
    exchange->reply({.body = rules_text(context->state())});
  });
}

}  // namespace

void add_rule_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/rules", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               return rules_text(context->state());
             }));
  routes.add(
      "PUT", "/v1/rules", Action::set_rules,
      [context](const auto& exchange, const Principal& by) { set_rules(context, exchange, by); });
}

}  // namespace paceline
