// The server itself: is it there, is it ready, what is it, and its end.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "api/context.hpp"
#include "wire/json.hpp"

namespace paceline {
namespace {

bool has_agent(const ApiContext& context) {
  if (context.options.ready) return context.options.ready();
  return std::ranges::any_of(context.state().nodes(), &Node::up);
}

// A server is ready if it can write durably. It tries once a second at most, however many ask.
class Readiness {
 public:
  explicit Readiness(SharedContext context) : context_(std::move(context)) {}

  Result<std::string> show() {
    if (!has_agent(*context_)) {
      return fail(ErrorCode::unavailable, "No agent is connected yet.", "Try again in a moment.",
                  Retry::may_help);
    }
    const auto now = std::chrono::steady_clock::now();
    if (!proved_at_ || now - *proved_at_ >= kProveEvery) {
      proof_ = context_->controller.store().prove();
      proved_at_ = now;
    }
    if (proof_) return R"({"ready":true})";
    return fail(ErrorCode::unavailable, proof_.error().message, proof_.error().hint);
  }

 private:
  static constexpr std::chrono::seconds kProveEvery{1};

  SharedContext context_;
  Result<void> proof_;
  std::optional<std::chrono::steady_clock::time_point> proved_at_;
};

Result<std::string> show_server(const ApiContext& context) {
  const auto& state = context.state();
  JsonWriter json = context.json();
  json.begin_object().field("version", context.options.version);
  json.field("build", context.options.build).field("pid", ::getpid());
  json.field("dir", context.options.directory.string());
  json.field("started_at", context.started_at).field("seq", state.seq());
  json.field("policy", state.policy() == nullptr ? std::string_view() : state.policy()->name);
  json.field("slots", state.slots_available()).field("slots_leased", state.slots_leased());
  const auto damage = context.options.damage ? context.options.damage() : std::string();
  json.field("damage", unless_empty(damage));
  json.field("mails",
             context.options.may_notify &&
                 context.options.may_notify({.to = {"mailto:root@localhost"}}).has_value());
  json.field("uid", context.options.uid).key("jobs").begin_object();
  for (const auto each : kJobStates) json.field(to_string(each), context.counts.of(each));
  json.end_object().end_object();
  return json.take();
}

Result<std::string> show_limits(const ApiContext& context) {
  constexpr Limits kDefaults;
  JsonWriter json;
  json.begin_object().key("limits").begin_array();
  for (const auto& limit : kLimits) {
    json.begin_object().field("name", limit.name);
    json.field("value", context.options.limits.*(limit.value));
    json.field("default", kDefaults.*(limit.value));
    json.field("unit", to_string(limit.unit));
    json.field("counts", limit.what).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

// Answers all who asked for the shutdown, and ends the server.
void leave(const SharedContext& context) {
  JsonWriter json;
  json.begin_object().key("running").begin_array();
  for (const auto& key : context->state().active()) json.value(key.job.value);
  json.end_array().end_object();
  context->all_over.reset();
  for (const auto& each : std::exchange(context->leavers, {})) each->reply({.body = json.text()});
  if (context->options.leave) context->options.leave();
}

void stay(const SharedContext& context, const Error& error) {
  context->leaving = false;
  context->all_over.reset();
  for (const auto& each : std::exchange(context->leavers, {})) each->refuse(error);
}

// Its workers are told to end, and those that live are on nodes that do not answer: they hear of it from
// the next server.
bool is_out_of_reach(const State& state, const Job& job) {
  if (!job.current || !job.current->stop) return false;
  return std::ranges::none_of(job.current->workers, [&](const Worker& worker) {
    return worker.state != WorkerState::ended && state.find_node(worker.seat.node)->up;
  });
}

void leave_without_jobs(const SharedContext& context) {
  const State& state = context->state();
  const auto is_done = [&](const QueueKey& key) {
    return is_out_of_reach(state, state.job(key.job));
  };
  if (context->leaving && std::ranges::all_of(state.queue(), is_done)) leave(context);
}

void cancel(const SharedContext& context, JobId job, const Principal& by) {
  context->controller.request(job, Request::cancel, by, [context](const Result<void>& done) {
    if (!done) stay(context, done.error());
  });
}

// Cancels every job, those on their way in too; the last one that is over ends the server.
void end_jobs(const SharedContext& context, const Principal& by) {
  const auto queue = context->state().queue();
  for (const auto& key : queue) cancel(context, key.job, by);
  context->all_over = context->entries.listen([context, by](std::span<const Entry> entries) {
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      const auto* submitted = event != nullptr ? std::get_if<JobSubmitted>(event) : nullptr;
      if (submitted != nullptr) cancel(context, submitted->job, by);
    }
    leave_without_jobs(context);
  });
  leave_without_jobs(context);
}

Result<bool> read_shutdown(const HttpRequest& request) {
  const auto json = parse_json(request.body.empty() ? "{}" : request.body);
  if (!json) return fail(json.error());
  bool jobs = false;
  ObjectReader reader(*json, "body");
  if (auto read = reader.flag("jobs", jobs).finish(); !read) return fail(read.error());
  return jobs;
}

void shut_down(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
               const Principal& by) {
  const auto jobs = read_shutdown(exchange->request());
  if (!jobs) return exchange->refuse(jobs.error());
  spdlog::info("{} ends the server{}.", by.user, *jobs ? " and all jobs" : "");
  context->leaving = true;
  context->leavers.push_back(exchange);
  if (*jobs) return end_jobs(context, by);
  leave(context);
}

}  // namespace

void add_server_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/healthz", Action::see,
             answering([](const HttpRequest&) { return R"({"healthy":true})"; }));
  routes.add("GET", "/readyz", Action::see,
             answering([readiness = std::make_shared<Readiness>(context)](const HttpRequest&) {
               return readiness->show();
             }));
  routes.add("GET", "/v1/server", Action::see,
             answering([context](const HttpRequest&) { return show_server(*context); }));
  routes.add("GET", "/v1/limits", Action::see,
             answering([context](const HttpRequest&) { return show_limits(*context); }));
  routes.add("POST", "/v1/shutdown", Action::shut_down,
             [context](const auto& exchange, const auto& by) { shut_down(context, exchange, by); });
}

}  // namespace paceline
