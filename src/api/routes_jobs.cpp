// Jobs as they are: one, many, why, their curves, and waiting for the end of one.
#include <algorithm>
#include <limits>
#include <utility>

#include "api/context.hpp"
#include "api/query.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kJobsPageMax = 1000;
constexpr std::size_t kScanMax = 100'000;  // jobs looked at for one page
constexpr std::uint64_t kPointsMax = 10'000;
constexpr std::uint64_t kPointsAtOnce = 250;  // read from the store
constexpr std::uint32_t kWaitSecondsMax = 60;

struct Listing {
  bool all = false;
  std::optional<JobState> state;
  std::uint32_t after = 0;
  std::uint32_t limit = kJobsPageMax;

  [[nodiscard]] bool lists_over() const { return all || (state && is_over(*state)); }
  [[nodiscard]] bool wants(const Job& job) const {
    return state ? job.state == *state : all || !is_over(job.state);
  }
};

Result<Listing> read_listing(const ApiRequest& request) {
  Listing listing;
  std::string state;
  QueryReader query(request);
  query.flag("all", listing.all).text("state", state, 32);
  query.whole("after", listing.after, 0, std::numeric_limits<std::uint32_t>::max());
  query.whole("limit", listing.limit, 1, kJobsPageMax);
  listing.state = parse_job_state(state);
  if (!state.empty() && !listing.state) query.refuse("state", "a job state like RUNNING");
  if (auto read = query.finish(); !read) return fail(read.error());
  return listing;
}

// Candidates for a page in id order: from the queue where only live jobs are wanted.
std::vector<JobId> candidates(const State& state, const Listing& listing) {
  std::vector<JobId> ids;
  if (listing.lists_over()) {
    const auto last =
        std::min<std::size_t>(state.jobs().size(), std::size_t{listing.after} + kScanMax);
    for (std::size_t id = std::size_t{listing.after} + 1; id <= last; ++id) {
      ids.emplace_back(static_cast<std::uint32_t>(id));
    }
    return ids;
  }
  for (const auto& key : state.queue()) {
    if (key.job.value > listing.after) ids.push_back(key.job);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<std::string> list_jobs(ApiContext& context, const ApiRequest& request) {
  const auto listing = read_listing(request);
  if (!listing) return fail(listing.error());
  const auto& state = context.state();
  std::uint32_t listed = 0, seen = listing->after;
  bool more = false;
  JsonWriter json = context.json();
  json.begin_object().key("jobs").begin_array();
  for (const auto id : candidates(state, *listing)) {
    const auto& job = state.job(id);
    const bool wanted = listing->wants(job);
    more = wanted && (listed == listing->limit || json.text().size() > kPageBytesMax);
    if (more) break;
    seen = id.value;
    if (!wanted) continue;
    context.write_job(json, job, request.peer);
    ++listed;
  }
  more = more || (listing->lists_over() && seen < state.jobs().size());
  json.end_array().field("next", more ? std::optional(seen) : std::nullopt).end_object();
  return json.take();
}

Result<std::string> show_job(ApiContext& context, const ApiRequest& request) {
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  return context.job_text(**job, request.peer);
}

void write_waits(JsonWriter& json, const std::optional<Waits>& waits) {
  if (!waits) return static_cast<void>(json.null_field("waits"));
  json.key("waits").begin_object().field("passed_over", waits->passed.count);
  json.key("passed_by").begin_array();
  for (const JobId id : waits->passed.last) json.value(id.value);
  json.end_array().field("patience_until", waits->patience_until);
  if (const auto& kept = waits->kept) {
    json.key("kept").begin_object().field("slots", kept->slots).field("free", kept->free);
    if (kept->last)
      json.field("last_job", kept->last->value);
    else
      json.null_field("last_job");
    json.field("free_at", kept->at).end_object();
  } else {
    json.null_field("kept");
  }
  json.end_object();
}

Result<std::string> explain_job(const ApiContext& context, const ApiRequest& request) {
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  const auto viewer = context.viewer(request.peer, **job);
  JsonWriter json = context.json();
  json.begin_object().field("id", (*job)->id.value).field("state", to_string((*job)->state));
  json.field("reason", sentence(context.controller.reason((*job)->id, viewer)));
  json.key("lines").begin_array();
  for (const auto& line : context.controller.why((*job)->id, viewer)) json.value(line);
  json.end_array();
  write_waits(json, context.controller.waits((*job)->id));
  json.end_object();
  return json.take();
}

void write_point(JsonWriter& json, const NumberedPoint& numbered) {
  const auto& point = numbered.point;
  json.begin_object().field("n", numbered.number).field("at", point.at);
  json.field("generation", point.generation.value).field("rank", point.rank);
  json.field("step", point.step).field("samples", point.samples);
  json.key("values").begin_object();
  for (const auto& [name, value] : point.values) json.field(name, value);
  json.end_object().end_object();
}

// Writes up to `limit` points, and fewer where they are large. Returns from where the next page goes
// on.
Result<std::uint64_t> write_points(JsonWriter& json, Store& store, JobId job, std::string_view name,
                                   std::uint64_t from, std::uint64_t limit) {
  for (std::uint64_t left = limit; left > 0;) {
    const auto page = store.points(job, name, from, std::min(left, kPointsAtOnce));
    if (!page) return fail(page.error());
    for (const auto& point : page->points) {
      if (json.text().size() > kPageBytesMax) return point.number;
      write_point(json, point);
    }
    from = page->next;
    if (page->points.size() < kPointsAtOnce) break;
    left -= page->points.size();
  }
  return from;
}

Result<std::string> show_metrics(ApiContext& context, const ApiRequest& request) {
  const auto job = context.own_job(request);
  if (!job) return fail(job.error());
  std::string name;
  std::uint64_t from = 1, limit = kPointsMax / 10;
  QueryReader query(request);
  query.text("name", name, 128).whole("limit", limit, 1, kPointsMax);
  query.whole("from", from, 0, std::numeric_limits<std::uint64_t>::max());
  if (auto read = query.finish(); !read) return fail(read.error());
  JsonWriter json = context.json();
  json.begin_object().key("points").begin_array();
  const auto next = write_points(json, context.controller.store(), (*job)->id, name,
                                 std::max<std::uint64_t>(from, 1), limit);
  if (!next) return fail(next.error());
  json.end_array().field("next", *next);
  json.field("passed_over", context.controller.points_passed_over((*job)->id)).end_object();
  return json.take();
}

// Somebody who waits for the end of a job. Lives as long as its exchange waits for the time limit.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  Waiter(SharedContext context, std::shared_ptr<Exchange> exchange, JobId job)
      : context_(std::move(context)), exchange_(std::move(exchange)), job_(job) {}

  void wait(std::chrono::seconds limit) {
    if (is_over(job().state) || limit == std::chrono::seconds::zero()) return answer();
    token_ = context_->watch(job_, [self = weak_from_this()] {
      const auto waiter = self.lock();
      if (waiter && is_over(waiter->job().state)) waiter->answer();
    });
    exchange_->after(limit, [self = shared_from_this()] { self->answer(); });
  }

 private:
  [[nodiscard]] const Job& job() const { return context_->state().job(job_); }

  void answer() {
    token_.reset();
    exchange_->reply({.body = context_->job_text(job(), exchange_->request().peer)});
  }

  SharedContext context_;
  std::shared_ptr<Exchange> exchange_;
  JobId job_;
  ListenToken token_;
};

void wait_for_job(const SharedContext& context, const std::shared_ptr<Exchange>& exchange) {
  const auto& request = exchange->request();
  const auto job = context->job(request);
  if (!job) return exchange->refuse(job.error());
  std::uint32_t limit = kWaitSecondsMax / 2;
  QueryReader query(request);
  query.whole("timeout_seconds", limit, 0, kWaitSecondsMax);
  if (auto read = query.finish(); !read) return exchange->refuse(read.error());
  std::make_shared<Waiter>(context, exchange, (*job)->id)->wait(std::chrono::seconds{limit});
}

}  // namespace

void add_job_routes(Router& router, const SharedContext& context) {
  router.add("GET", "/v1/jobs", answering([context](const ApiRequest& request) {
               return list_jobs(*context, request);
             }));
  router.add("GET", "/v1/jobs/{id}", answering([context](const ApiRequest& request) {
               return show_job(*context, request);
             }));
  router.add("GET", "/v1/jobs/{id}/why", answering([context](const ApiRequest& request) {
               return explain_job(*context, request);
             }));
  router.add("GET", "/v1/jobs/{id}/metrics", answering([context](const ApiRequest& request) {
               return show_metrics(*context, request);
             }));
  router.add("GET", "/v1/jobs/{id}/wait",
             [context](const auto& exchange) { wait_for_job(context, exchange); });
}

}  // namespace paceline
