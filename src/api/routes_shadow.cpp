// The trial of a candidate policy: its beginning and end, what it would have done, what that would
// change, and the switch to it and back.
#include <map>
#include <set>
#include <utility>

#include "api/policy_choice.hpp"
#include "wire/job_json.hpp"

namespace paceline {
namespace {

void write_change(JsonWriter& json, std::string_view key, const Change* change,
                  const State& state) {
  json.key(key);
  if (!change) {
    json.null();
    return;
  }
  json.begin_object().field("kind", to_string(change->kind));
  json.field("workers", change->placement.size()).key("nodes").begin_array();
  std::set<NodeId> nodes;
  for (const Seat& seat : change->placement) {
    if (nodes.insert(seat.node).second) json.value(state.find_node(seat.node)->spec.name);
  }
  json.end_array().field("reason_code", name(change->reason.code));
  json.field("reason", sentence(change->reason)).end_object();
}

// What both would do, side by side, by job.
void write_round(JsonWriter& json, const ShadowRound& round, const State& state) {
  std::map<JobId, std::pair<const Change*, const Change*>> jobs;
  for (const Change& change : round.live) jobs[change.job].first = &change;
  for (const Change& change : round.shadow) jobs[change.job].second = &change;
  json.begin_object().field("round", round.round).field("at", round.at);
  json.key("changes").begin_array();
  for (const auto& [job, changes] : jobs) {
    json.begin_object().field("job", job.value);
    write_change(json, "live", changes.first, state);
    write_change(json, "shadow", changes.second, state);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_means(JsonWriter& json, std::string_view key, const ForecastMeans& means) {
  json.key(key).begin_object().field("completion_seconds", means.completion);
  json.field("waiting_seconds", means.waiting).field("makespan_seconds", means.makespan);
  write_lost(json, means.lost);
  json.end_object();
}

void write_losses(JsonWriter& json, const LossPair& lost) {
  write_bill(json, "live", lost.live);
  write_bill(json, "shadow", lost.shadow);
}

void write_users(JsonWriter& json, const ShadowForecast& forecast) {
  json.key("users").begin_array();
  for (const UserLoss& user : forecast.users) {
    json.begin_object().field("user", user.user);
    write_losses(json, user.lost);
    json.end_object();
  }
  json.end_array().key("other_users").begin_object().field("count", forecast.other_users);
  write_losses(json, forecast.others);
  json.end_object();
}

void write_forecast(JsonWriter& json, const ShadowForecast& forecast) {
  json.key("forecast");
  if (forecast.samples == 0) {
    json.null();
    return;
  }
  json.begin_object().field("samples", forecast.samples).field("jobs", forecast.jobs);
  json.field("guessed", forecast.guessed).field("unfinished", forecast.unfinished);
  write_means(json, "live", forecast.live);
  write_means(json, "shadow", forecast.shadow);
  write_users(json, forecast);
  json.end_object();
}

std::string report_text(const ApiContext& context, const ShadowReport& report) {
  JsonWriter json = context.json();
  json.begin_object().field("name", report.policy);
  write_parameters(json, report.parameters);
  json.field("since", report.since).field("counted_since", report.counted_since);
  json.field("live", context.state().policy()->name);
  json.field("rounds", report.rounds).field("differed", report.differed);
  json.field("skipped", report.skipped).field("failed", report.failed);
  json.field("failure", unless_empty(report.failure));
  json.key("differences").begin_array();
  for (const ShadowRound& round : report.differences) write_round(json, round, context.state());
  json.end_array();
  write_forecast(json, report.forecast);
  json.end_object();
  return json.take();
}

// Errors: not_found: no policy is tried.
Result<std::string> show_shadow(const ApiContext& context) {
  const auto report = context.controller.shadow().report();
  if (report) return report_text(context, *report);
  return fail(ErrorCode::not_found, "No policy is tried.",
              "Try one first: 'paceline policy try NAME'.");
}

void begin_shadow(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                  const Principal& by) {
  auto choice = read_policy_choice(exchange->request());
  if (!choice) return exchange->refuse(choice.error());
  context->controller.desk().try_out({std::move(choice->name), std::move(choice->parameters)}, by,
                                     [context, exchange](const Result<void>& done) {
                                       if (!done) return exchange->refuse(done.error());
                                       reply_with(*exchange, show_shadow(*context));
                                     });
}

// Answers with what it came to.
void end_shadow(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                const Principal& by) {
  auto last = show_shadow(*context);
  if (!last) return exchange->refuse(last.error());
  context->controller.desk().end_trial(
      by, [exchange, last = std::move(*last)](const Result<void>& done) {
        if (!done) return exchange->refuse(done.error());
        exchange->reply({.body = last});
      });
}

void promote(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
             const Principal& by) {
  Controller& controller = context->controller;
  answer_switch(context, exchange, controller.desk().tried(),
                [&](Done<void> done) { controller.desk().promote(by, std::move(done)); });
}

void roll_back(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
               const Principal& by) {
  Controller& controller = context->controller;
  answer_switch(context, exchange, controller.desk().before(),
                [&](Done<void> done) { controller.desk().roll_back(by, std::move(done)); });
}

}  // namespace

void add_shadow_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/shadow", Action::see,
             answering([context](const HttpRequest&) { return show_shadow(*context); }));
  routes.add("PUT", "/v1/shadow", Action::set_policy,
             [context](const auto& exchange, const Principal& by) {
               begin_shadow(context, exchange, by);
             });
  routes.add(
      "DELETE", "/v1/shadow", Action::set_policy,
      [context](const auto& exchange, const Principal& by) { end_shadow(context, exchange, by); });
  routes.add(
      "POST", "/v1/shadow/promote", Action::set_policy,
      [context](const auto& exchange, const Principal& by) { promote(context, exchange, by); });
  routes.add(
      "POST", "/v1/policy/rollback", Action::set_policy,
      [context](const auto& exchange, const Principal& by) { roll_back(context, exchange, by); });
}

}  // namespace paceline
