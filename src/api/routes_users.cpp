#include <string_view>

#include "api/context.hpp"
#include "api/usage.hpp"
#include "wire/job_json.hpp"

namespace paceline {
namespace {

void write(JsonWriter& json, std::string_view user, const Usage& usage) {
  json.begin_object().field("user", user).field("jobs", usage.jobs);
  json.field("waiting", usage.waiting).field("running", usage.running).field("slots", usage.slots);
  json.field("waited_seconds", usage.waited).field("slot_seconds", usage.slot_seconds);
  write_lost(json, usage.lost);
  json.end_object();
}

std::string users_text(const State& state, Time now) {
  JsonWriter json;
  json.begin_object().key("users").begin_array();
  for (const auto& [user, usage] : usage_by_user(state, now)) write(json, user, usage);
  json.end_array().end_object();
  return json.take();
}

}  // namespace

void add_user_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/users", Action::see,
             answering([context](const HttpRequest&) -> Result<std::string> {
               return users_text(context->state(), context->controller.now());
             }));
}

}  // namespace paceline
