#include <map>
#include <string_view>

#include "api/context.hpp"
#include "model/accrual.hpp"
#include "wire/job_json.hpp"

namespace paceline {
namespace {

// What all jobs of one user came to.
struct Usage {
  std::int64_t jobs = 0, waiting = 0, running = 0, slots = 0;
  Duration waited{};
  double slot_seconds = 0;
  Bill lost;
};

void add(Usage& usage, const Job& job, Time now) {
  const Accrual since = accrued(job, now);
  ++usage.jobs;
  if (!is_over(job.state)) ++(job.leased > 0 ? usage.running : usage.waiting);
  usage.slots += job.leased;
  usage.waited += job.waited;
  if (since.spent == &Job::waited) usage.waited += since.passed;
  usage.slot_seconds += job.slot_seconds + since.slot_seconds;
  usage.lost += lost_with(job, since);
}

void add(Usage& usage, const ForgottenSums& sums) {
  usage.jobs += static_cast<std::int64_t>(sums.jobs());
  usage.waited += sums.waited;
  usage.slot_seconds += sums.slot_seconds;
  usage.lost += sums.lost;
}

void write(JsonWriter& json, std::string_view user, const Usage& usage) {
  json.begin_object().field("user", user).field("jobs", usage.jobs);
  json.field("waiting", usage.waiting).field("running", usage.running).field("slots", usage.slots);
  json.field("waited_seconds", usage.waited).field("slot_seconds", usage.slot_seconds);
  write_lost(json, usage.lost);
  json.end_object();
}

std::string users_text(const State& state, Time now) {
  std::map<std::string_view, Usage> users;
  for (const Job& job : state.jobs()) add(users[job.spec->user], job, now);
  for (const auto& [user, sums] : state.forgotten()) add(users[user], sums);
  JsonWriter json;
  json.begin_object().key("users").begin_array();
  for (const auto& [user, usage] : users) write(json, user, usage);
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
