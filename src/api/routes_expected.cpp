// When jobs are expected to start and to end.
#include <limits>
#include <memory>
#include <utility>

#include "api/context.hpp"
#include "http/query.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kExpectedPageMax = 10'000;

struct Page {
  std::uint32_t after = 0;
  std::uint32_t limit = kExpectedPageMax;
};

Result<Page> read_page(const HttpRequest& request) {
  Page page;
  QueryReader query(request);
  query.whole("after", page.after, 0, std::numeric_limits<std::uint32_t>::max());
  query.whole("limit", page.limit, 1, kExpectedPageMax);
  if (auto read = query.finish(); !read) return fail(read.error());
  return page;
}

std::string page_text(const ApiContext& context, const Page& page) {
  const auto* newest = context.controller.prospects().newest();
  JsonWriter json = context.json();
  json.begin_object().field("as_of", newest ? std::optional(newest->as_of) : std::nullopt);
  json.key("jobs").begin_array();
  std::uint32_t listed = 0, seen = page.after;
  bool more = false;
  static const Expectations none;
  const auto& jobs = newest ? newest->jobs : none.jobs;
  for (auto it = jobs.upper_bound(JobId{page.after}); it != jobs.end(); ++it) {
    more = listed == page.limit;
    if (more) break;
    ++listed;
    seen = it->first.value;
    json.begin_object().field("id", seen);
    write_expected(json, &it->second);
    json.end_object();
    context.controller.prospects().told(it->first);
  }
  json.end_array().field("next", more ? std::optional(seen) : std::nullopt).end_object();
  return json.take();
}

// Sums alone: they tell of nobody's job.
std::string stats_text(const ApiContext& context) {
  const Grades& grades = context.controller.prospects().grades();
  JsonWriter json = context.json();
  json.begin_object().key("expected").begin_object().field("waiting", grades.waiting());
  json.key("graded").begin_array();
  for (const GradeSummary& kind : grades.summary()) {
    json.begin_object().field("of", to_string(kind.of)).field("known", to_string(kind.known));
    json.field("count", kind.graded).field("inside", kind.inside);
    json.field("median_error_seconds", kind.median_error);
    json.field("median_error_ratio", kind.median_ratio).field("widened", kind.widened);
    json.end_object();
  }
  json.end_array().end_object().end_object();
  return json.take();
}

void list_expected(const SharedContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto page = read_page(exchange->request());
  if (!page) return exchange->refuse(page.error());
  const auto foresee = [context](std::function<void()> done) {
    context->controller.prospects().ask(std::move(done));
  };
  ApiContext::answer_within(exchange, foresee, [context, exchange, page = *page] {
    exchange->reply({.body = page_text(*context, page)});
  });
}

}  // namespace

void ApiContext::answer_within(const std::shared_ptr<Exchange>& exchange,
                               const std::function<void(std::function<void()>)>& begin,
                               std::function<void()> answer) {
  const auto once = std::make_shared<std::function<void()>>(std::move(answer));
  const auto answer_once = [once] {
    if (const auto now = std::exchange(*once, {})) now();
  };
  begin(answer_once);
  if (*once) exchange->after(kForeseenWithin, answer_once);
}

void write_expected(JsonWriter& json, std::string_view key,
                    const std::optional<ExpectedTime>& expected) {
  if (!expected) return static_cast<void>(json.null_field(key));
  json.key(key).begin_object().field("at", expected->at).field("earliest", expected->earliest);
  json.field("latest", expected->latest).field("known", to_string(expected->known)).end_object();
}

void write_expected(JsonWriter& json, const JobExpected* expected) {
  static const JobExpected none;
  const JobExpected& job = expected != nullptr ? *expected : none;
  write_expected(json, "expected_start", job.start);
  write_expected(json, "expected_end", job.end);
  json.field("starts_after", job.after ? std::optional(job.after->value) : std::nullopt);
}

void write_what_ifs(JsonWriter& json, const std::vector<WhatIf>& what_ifs) {
  json.key("changes").begin_array();
  for (const WhatIf& what_if : what_ifs) {
    json.begin_object().field("change", to_string(what_if.changed));
    json.field("slots", unless_zero(what_if.slots)).field("starts_at", what_if.starts_at);
    json.end_object();
  }
  json.end_array();
}

void add_expected_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/expected", Action::see,
             [context](const auto& exchange, const auto&) { list_expected(context, exchange); });
  routes.add("GET", "/v1/stats", Action::see,
             answering([context](const HttpRequest& request) -> Result<std::string> {
               QueryReader query(request);
               if (auto read = query.finish(); !read) return fail(read.error());
               return stats_text(*context);
             }));
}

}  // namespace paceline
