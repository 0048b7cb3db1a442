// What changes jobs: submit, cancel, pause, resume, resize. Each is answered once it is durable.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/context.hpp"
#include "api/ship_desk.hpp"
#include "wire/json.hpp"
#include "wire/submission_json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kKeyBytesMax = 128;

Result<std::string> read_key(const HttpRequest& request) {
  const std::string key(request.header("Idempotency-Key"));
  const bool printable =
      std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (key.size() <= kKeyBytesMax && printable) return key;
  return fail(ErrorCode::invalid,
              fmt::format("An Idempotency-Key has at most {} printable characters.", kKeyBytesMax),
              "Use a random identifier, a new one for every submission.");
}

// What a submission leaves to the account: "~", and, where its environment is no shell's, who one
// is.
Result<void> as_at_login(ApiContext& context, const Principal& by, SubmissionBody& body) {
  LaunchSpec& launch = body.launch;
  const bool at_home = launch.directory.starts_with('~');
  if (!at_home && by.known_by != KnownBy::token) return {};
  const auto found = context.login(body.spec.user);
  if (!found) return fail(found.error());
  if (!*found) return fail(no_account(body.spec.user));
  const Login& login = **found;
  if (at_home) launch.directory.replace(0, 1, login.home);
  if (by.known_by != KnownBy::token) return {};
  launch.environment.try_emplace("HOME", login.home);
  launch.environment.try_emplace("SHELL", login.shell);
  return {};
}

// The submitting user and groups are the caller's, whatever the body says. A server of one
// user runs everything as that user.
Result<void> run_as(ApiContext& context, const Peer& peer, const Principal& by,
                    SubmissionBody& body) {
  if (context.shared() && !by.uid) return fail(no_account(by.user));
  body.spec.uid = context.shared() ? *by.uid : context.options.uid;
  auto user = context.user_name(body.spec.uid);
  if (!user) return fail(std::move(user.error()));
  body.spec.user = std::move(*user);
  if (auto filled = as_at_login(context, by, body); !filled) return filled;
  if (!context.shared()) return {};
  if (auto may = context.may_run(body.spec.uid); !may) return may;
  if (peer.account) {
    body.launch.groups = peer.account->groups;
    body.launch.groups.insert(body.launch.groups.begin(), peer.account->gid);
  }
  return {};
}

Result<void> may_notify(const ApiContext& context, const Notify& notify) {
  if (notify.to.empty()) return {};
  if (context.options.may_notify) return context.options.may_notify(notify);
  return fail(ErrorCode::invalid, "This server sends no messages.",
              "Leave out --notify-to and 'notify'.");
}

// Operators say whose work is urgent.
Result<void> may_go_first(const ApiContext& context, const Principal& by, const JobSpec& spec) {
  const auto most = static_cast<std::int64_t>(context.options.limits.priority);
  if (spec.priority <= most || by.is(Role::operator_) || by.is(Role::admin)) return {};
  return fail(
      ErrorCode::forbidden,
      fmt::format("Priority {} is for operators; yours is {} at most.", spec.priority, most),
      "Submit with a smaller --priority, or ask an operator to submit it.");
}

Result<void> stays(const ApiContext& context) {
  if (!context.leaving) return {};
  return fail(ErrorCode::unavailable, "The server is being shut down.",
              "Submit again after the next 'paceline up'.", Retry::may_help);
}

Result<Submission> read(ApiContext& context, const HttpRequest& request, const Principal& by) {
  if (auto ok = stays(context); !ok) return fail(std::move(ok.error()));
  auto key = read_key(request);
  if (!key) return fail(std::move(key.error()));
  auto body = read_submission(request.body);
  if (!body) return fail(std::move(body.error()));
  if (auto ok = run_as(context, request.peer, by, *body); !ok) return fail(std::move(ok.error()));
  if (auto ok = may_go_first(context, by, body->spec); !ok) return fail(std::move(ok.error()));
  if (auto ok = may_notify(context, body->notify); !ok) return fail(std::move(ok.error()));
  return Submission{std::move(body->spec), std::move(body->launch), std::move(*key), by,
                    std::move(body->notify)};
}

void enter(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
           Submission submission, const std::shared_ptr<void>& hold = {}) {
  const auto next = context->state().next_job_id();
  const auto ship = submission.launch.shipped.ship;
  context->controller.submit(
      std::move(submission), [context, exchange, next, ship, hold](const Result<JobId>& id) {
        if (!id) return exchange->refuse(id.error());
        const bool known = *id < next;
        if (!known && !ship.empty()) context->options.ships->named(*id, ship);
        exchange->reply(
            {.status = known ? 200 : 201, .body = fmt::format(R"({{"id":{}}})", id->value)});
      });
}

// Of the job that was submitted with that key and that ship, which need not be here any more.
std::optional<ShippedDirectory> shipped_before(const ApiContext& context,
                                               const Submission& submission) {
  auto& store = context.controller.store();
  if (submission.key.empty()) return std::nullopt;
  const auto job =
      store.find_submission(submission.spec.uid, submission.key, context.controller.now());
  if (!job || !*job) return std::nullopt;
  const auto launch = store.launch(**job);
  if (launch && launch->shipped.ship == submission.launch.shipped.ship) return launch->shipped;
  return submission.launch.shipped;
}

// A directory that travels with the job is the submitter's own, and here.
void submit(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
            const Principal& by) {
  auto submission = read(*context, exchange->request(), by);
  if (!submission) return exchange->refuse(submission.error());
  const auto ship = submission->launch.shipped.ship;
  if (ship.empty()) return enter(context, exchange, std::move(*submission));
  auto* ships = context->options.ships;
  if (ships == nullptr) return exchange->refuse(ships_nothing());
  const auto uid = submission->spec.uid;
  ships->admit(uid, ship,
               [=, made = std::move(*submission)](Result<AdmittedShip> admitted) mutable {
                 if (auto ok = stays(*context); !ok) return exchange->refuse(ok.error());
                 if (admitted) {
                   made.launch.shipped = std::move(admitted->shipped);
                   return enter(context, exchange, std::move(made), admitted->hold);
                 }
                 auto before = shipped_before(*context, made);
                 if (!before) return exchange->refuse(admitted.error());
                 made.launch.shipped = std::move(*before);
                 enter(context, exchange, std::move(made));
               });
}

// Others' jobs as the queue shows them; one that ended meanwhile is left out.
bool write_other(JsonWriter& json, const State& state, JobId id) {
  const Job* job = state.find_job(id);
  if (!job) return false;
  json.begin_object().field("id", id.value).field("user", job->spec->user);
  json.field("name", job->spec->name);
  return true;
}

void write_jobs_ahead(JsonWriter& json, const State& state, const std::vector<JobAhead>& jobs) {
  json.key("jobs_ahead").begin_array();
  for (const JobAhead& before : jobs) {
    if (!write_other(json, state, before.job)) continue;
    json.field("priority", state.job(before.job).spec->priority);
    json.field("reason", sentence(before.waits)).end_object();
  }
  json.end_array();
}

std::string ahead_text(const ApiContext& context, const Ahead& ahead) {
  const State& state = context.state();
  JsonWriter json = context.json();
  json.begin_object().field("as_of", ahead.as_of);
  write_expected(json, &ahead.expected);
  json.field("reason", ahead.waits ? std::optional(sentence(*ahead.waits)) : std::nullopt);
  json.field("position", ahead.position);
  write_jobs_ahead(json, state, ahead.jobs_ahead);
  write_what_ifs(json, ahead.changes);
  json.key("effects").begin_array();
  for (const Effect& effect : ahead.effects) {
    if (!write_other(json, state, effect.job)) continue;
    json.field("what", word_of(effect)).field("workers", effect.from);
    json.field("workers_then", effect.asked ? effect.from : effect.to).end_object();
  }
  json.end_array().key("delayed").begin_array();
  for (const Delayed& delayed : ahead.delayed) {
    if (!write_other(json, state, delayed.job)) continue;
    json.field("what", delayed.starts ? "start" : "end");
    json.field("later_seconds", delayed.by).end_object();
  }
  json.end_array().field("other_delayed", ahead.other_delayed).end_object();
  return json.take();
}

void plan(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
          const Principal& by) {
  auto submission = read(*context, exchange->request(), by);
  if (!submission) return exchange->refuse(submission.error());
  context->controller.prospects().look_ahead(
      std::move(*submission), [context, exchange](const Result<Ahead>& ahead) {
        if (!ahead) return exchange->refuse(ahead.error());
        exchange->reply({.body = ahead_text(*context, *ahead)});
      });
}

// Answers with the job as it is after a command.
Done<void> answer_with_job(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                           const Principal& by, JobId job) {
  return [context, exchange, by, job](const Result<void>& done) {
    if (!done) return exchange->refuse(done.error());
    const auto found = context->find(job);
    if (!found) return exchange->refuse(found.error());
    exchange->reply({.body = context->job_text(**found, by)});
  };
}

RouteHandler commanding(const SharedContext& context, Request command) {
  return [context, command](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
    const auto& request = exchange->request();
    const auto job = context->job(request);
    if (!job) return exchange->refuse(job.error());
    const auto id = (*job)->id;
    context->controller.request(id, command, by, answer_with_job(context, exchange, by, id));
  };
}

// {"workers": "2..4@3"}, or a plain number.
Result<WorkerRange> read_range(const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  ObjectReader reader(*json, "body");
  const auto* workers = reader.require({"workers"}).find("workers");
  if (auto read = reader.finish(); !read) return fail(read.error());
  if (workers->is_string()) return parse_range(workers->get_ref<const std::string&>());
  return parse_range(workers->dump());
}

void resize(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
            const Principal& by) {
  const auto job = context->job(exchange->request());
  if (!job) return exchange->refuse(job.error());
  const auto range = read_range(exchange->request());
  if (!range) return exchange->refuse(range.error());
  const auto id = (*job)->id;
  context->controller.set_range(id, *range, by, answer_with_job(context, exchange, by, id));
}

}  // namespace

void add_command_routes(Routes& routes, const SharedContext& context) {
  routes.add("POST", "/v1/jobs", Action::submit,
             [context](const auto& exchange, const auto& by) { submit(context, exchange, by); });
  routes.add("POST", "/v1/plan", Action::submit,
             [context](const auto& exchange, const auto& by) { plan(context, exchange, by); });
  routes.add("POST", "/v1/jobs/{id}/cancel", Action::cancel, commanding(context, Request::cancel));
  routes.add("POST", "/v1/jobs/{id}/pause", Action::control, commanding(context, Request::pause));
  routes.add("POST", "/v1/jobs/{id}/resume", Action::control, commanding(context, Request::resume));
  routes.add("POST", "/v1/jobs/{id}/resize", Action::control,
             [context](const auto& exchange, const auto& by) { resize(context, exchange, by); });
}

}  // namespace paceline
