// What changes jobs: submit, cancel, pause, resume, resize. Each is answered once it is durable.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/context.hpp"
#include "wire/json.hpp"
#include "wire/submission_json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kKeyBytesMax = 128;

Result<std::string> read_key(const ApiRequest& request) {
  const std::string key(request.header("Idempotency-Key"));
  const bool printable =
      std::ranges::all_of(key, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (key.size() <= kKeyBytesMax && printable) return key;
  return fail(ErrorCode::invalid,
              fmt::format("An Idempotency-Key has at most {} printable characters.", kKeyBytesMax),
              "Use a random identifier, a new one for every submission.");
}

// The submitting user and groups are those that the socket says, whatever the body claims. A server
// of one user runs everything as that user.
Result<Submission> read(ApiContext& context, const ApiRequest& request) {
  if (context.leaving) {
    return fail(ErrorCode::unavailable, "The server is being shut down.",
                "Submit again after the next 'paceline up'.", Retry::may_help);
  }
  auto key = read_key(request);
  if (!key) return fail(std::move(key.error()));
  auto body = read_submission(request.body);
  if (!body) return fail(std::move(body.error()));
  body->spec.uid = context.shared() ? request.peer.uid : context.options.uid;
  if (context.shared()) {
    if (auto may = context.may_run(request.peer.uid); !may) return fail(std::move(may.error()));
    body->launch.groups = request.peer.groups;
    body->launch.groups.insert(body->launch.groups.begin(), request.peer.gid);
  }
  body->spec.user = context.user_name(body->spec.uid);
  return Submission{std::move(body->spec), std::move(body->launch), std::move(*key)};
}

void submit(const SharedContext& context, const std::shared_ptr<Exchange>& exchange) {
  auto submission = read(*context, exchange->request());
  if (!submission) return exchange->refuse(submission.error());
  const auto next = context->state().next_job_id();
  context->controller.submit(std::move(*submission), [exchange, next](const Result<JobId>& id) {
    if (!id) return exchange->refuse(id.error());
    const int status = *id < next ? 200 : 201;
    exchange->reply({.status = status, .body = fmt::format(R"({{"id":{}}})", id->value)});
  });
}

// Answers with the job as it is after a command.
Done<void> answer_with_job(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                           JobId job) {
  return [context, exchange, job](const Result<void>& done) {
    if (!done) return exchange->refuse(done.error());
    const auto& peer = exchange->request().peer;
    exchange->reply({.body = context->job_text(context->state().job(job), peer)});
  };
}

Handler commanding(const SharedContext& context, Request command) {
  return [context, command](const std::shared_ptr<Exchange>& exchange) {
    const auto& request = exchange->request();
    const auto job = context->own_job(request);
    if (!job) return exchange->refuse(job.error());
    const auto id = (*job)->id;
    context->controller.request(id, command, request.peer.uid,
                                answer_with_job(context, exchange, id));
  };
}

// {"workers": "2..4@3"}, or a plain number.
Result<WorkerRange> read_range(const ApiRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  ObjectReader reader(*json, "body");
  const auto* workers = reader.require({"workers"}).find("workers");
  if (auto read = reader.finish(); !read) return fail(read.error());
  if (workers->is_string()) return parse_range(workers->get_ref<const std::string&>());
  return parse_range(workers->dump());
}

void resize(const SharedContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto job = context->own_job(exchange->request());
  if (!job) return exchange->refuse(job.error());
  const auto range = read_range(exchange->request());
  if (!range) return exchange->refuse(range.error());
  const auto id = (*job)->id;
  context->controller.set_range(id, *range, answer_with_job(context, exchange, id));
}

}  // namespace

void add_command_routes(Router& router, const SharedContext& context) {
  router.add("POST", "/v1/jobs", [context](const auto& exchange) { submit(context, exchange); });
  router.add("POST", "/v1/jobs/{id}/cancel", commanding(context, Request::cancel));
  router.add("POST", "/v1/jobs/{id}/pause", commanding(context, Request::pause));
  router.add("POST", "/v1/jobs/{id}/resume", commanding(context, Request::resume));
  router.add("POST", "/v1/jobs/{id}/resize",
             [context](const auto& exchange) { resize(context, exchange); });
}

}  // namespace paceline
