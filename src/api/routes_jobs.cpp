// Jobs as they are: one, many, why, their curves, and waiting for the end of one.
#include <algorithm>
#include <limits>
#include <utility>

#include "api/context.hpp"
#include "api/slurm.hpp"
#include "http/query.hpp"
#include "wire/notify_json.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kJobsPageMax = 1000;
constexpr std::size_t kScanMax = 100'000;         // jobs looked at for one page
constexpr std::size_t kForgottenScanMax = 2'000;  // of those that are read from the store
constexpr std::size_t kForgottenAtOnce = 250;
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

Result<Listing> read_listing(const HttpRequest& request) {
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

// Jobs in id order, those of the state and those that it forgot; or live jobs alone.
class JobScan {
 public:
  JobScan(ApiContext& context, const Listing& listing)
      : context_(context), after_(listing.after), all_(listing.lists_over()) {
    if (all_) return;
    for (const auto& key : context_.state().queue())
      if (key.job.value > after_) live_.push_back(key.job);
    std::ranges::sort(live_);
  }

  // The next one; nullptr: there is none, or enough were looked at.
  Result<SharedJob> next() {
    if (!all_) {
      if (at_ == live_.size()) return SharedJob();
      return context_.find(live_[at_++]);
    }
    if (looked_at_++ == kScanMax) {
      cut_ = true;
      return SharedJob();
    }
    if (auto ok = read_forgotten(); !ok) return fail(ok.error());
    const auto kept = context_.state().jobs().after(JobId{after_});
    const bool is_kept = kept != context_.state().jobs().end();
    if (at_ < page_.size() && (!is_kept || page_[at_].id < kept->id)) {
      after_ = page_[at_].id.value;
      return std::make_shared<const Job>(std::move(page_[at_++]));
    }
    if (!is_kept || cut_) return SharedJob();
    after_ = kept->id.value;
    return SharedJob(SharedJob(), &*kept);
  }

  // Enough were looked at, and there may be more.
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  // What comes next of the store is in the page; unless all was read, or too much.
  Result<void> read_forgotten() {
    if (at_ < page_.size() || read_all_ || cut_) return {};
    if (read_ >= kForgottenScanMax) {
      cut_ = true;
      return {};
    }
    auto page = context_.controller.store().forgotten(JobId{after_ + 1}, kForgottenAtOnce);
    if (!page) return fail(page.error());
    page_ = std::move(*page);
    at_ = 0;
    read_ += page_.size();
    read_all_ = page_.size() < kForgottenAtOnce;
    return {};
  }

  ApiContext& context_;
  std::uint32_t after_;
  bool all_;
  std::vector<JobId> live_;
  std::vector<Job> page_;
  std::size_t at_ = 0, read_ = 0, looked_at_ = 0;
  bool read_all_ = false, cut_ = false;
};

Result<std::string> list_jobs(ApiContext& context, const HttpRequest& request,
                              const Principal& by) {
  const auto listing = read_listing(request);
  if (!listing) return fail(listing.error());
  std::uint32_t listed = 0, seen = listing->after;  // jobs, and the last one looked at
  bool more = false;
  JobScan scan(context, *listing);
  JsonWriter json = context.json();
  json.begin_object().key("jobs").begin_array();
  for (;;) {
    const auto job = scan.next();
    if (!job) return fail(job.error());
    if (!*job) break;
    const bool wanted = listing->wants(**job);
    more = wanted && (listed == listing->limit || json.text().size() > kPageBytesMax);
    if (more) break;
    seen = (*job)->id.value;
    if (!wanted) continue;
    context.write_job(json, **job, by);
    ++listed;
  }
  more = more || scan.cut();
  json.end_array().field("next", more ? std::optional(seen) : std::nullopt).end_object();
  return json.take();
}

Result<std::string> show_job(ApiContext& context, const HttpRequest& request, const Principal& by) {
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  return context.job_text(**job, by);
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

Result<std::string> why_text(ApiContext& context, const HttpRequest& request, const Principal& by,
                             const std::vector<WhatIf>& what_ifs) {
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  const auto viewer = ApiContext::viewer(by, **job);
  JsonWriter json = context.json();
  json.begin_object().field("id", (*job)->id.value).field("state", to_string((*job)->state));
  json.field("reason", sentence(context.controller.reason(**job, viewer)));
  json.key("lines").begin_array();
  for (const auto& line : context.controller.why(**job, viewer)) json.value(line);
  if (context.options.slurm != nullptr) {
    for (const auto& line : context.options.slurm->why(**job)) json.value(line);
  }
  json.end_array();
  write_waits(json, context.controller.waits(**job));
  json.field("position", context.controller.position(**job));
  const bool over = is_over((*job)->state);
  write_expected(json, over ? nullptr : context.controller.prospects().expected((*job)->id));
  if (!over) context.controller.prospects().told((*job)->id);
  write_what_ifs(json, what_ifs);
  json.end_object();
  return json.take();
}

void explain_job(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                 const Principal& by) {
  const auto job = context->job(exchange->request());
  if (!job) return exchange->refuse(job.error());
  const auto found = std::make_shared<std::vector<WhatIf>>();
  const auto answer = [context, exchange, by, found] {
    auto text = why_text(*context, exchange->request(), by, *found);
    if (!text) return exchange->refuse(text.error());
    exchange->reply({.body = std::move(*text)});
  };
  if (is_over((*job)->state)) return answer();
  const auto foresee = [context, found, id = (*job)->id](const std::function<void()>& then) {
    context->controller.prospects().ask([context, found, id, then] {
      context->controller.prospects().what_ifs(id, [found, then](std::vector<WhatIf> what_ifs) {
        *found = std::move(what_ifs);
        then();
      });
    });
  };
  ApiContext::answer_within(exchange, foresee, answer);
}

void write_point(JsonWriter& json, const NumberedPoint& numbered) {
  const auto& point = numbered.point;
  json.begin_object().field("n", numbered.number).field("at", point.at);
  json.field("generation", point.born.value).field("rank", point.number);
  json.field("step", point.step).field("samples", point.samples);
  json.key("values").begin_object();
  for (const auto& [name, value] : point.values) json.field(name, value);
  json.end_object().end_object();
}

// Writes up to `limit` points, and fewer where they are large. Returns from where the next page
// goes on.
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

Result<std::string> show_metrics(ApiContext& context, const HttpRequest& request) {
  const auto job = context.job(request);
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
  const auto passed_over = context.controller.store().passed_over((*job)->id);
  if (!passed_over) return fail(passed_over.error());
  json.field("passed_over", *passed_over);
  const auto left = context.controller.store().remains((*job)->id);
  if (!left) return fail(left.error());
  const bool thinned = *left && (*left)->kept == Kept::thinned;
  json.field("thinned_from", thinned ? std::optional((*left)->points) : std::nullopt);
  json.end_object();
  return json.take();
}

// What its owner asked to be told, and how that fares. One that was forgotten asks for nothing.
Result<std::string> show_notify(ApiContext& context, const HttpRequest& request) {
  const auto job = context.job(request);
  if (!job) return fail(job.error());
  const auto asked = context.controller.store().notify((*job)->id);
  if (!asked) return fail(asked.error());
  const bool asks = !asked->empty() && asked->front().first == (*job)->id;
  const auto sums = context.options.messages ? context.options.messages((*job)->id) : MessageSums();
  JsonWriter json;
  json.begin_object().key("notify");
  if (asks)
    write_notify(json, asked->front().second);
  else
    json.null();
  json.field("waiting", sums.waiting).field("given_up", sums.given_up);
  json.field("problem", unless_empty(sums.problem)).end_object();
  return json.take();
}

// A request that waits for the end of a job. Lives as long as its exchange waits for the time
// limit.
class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  Waiter(SharedContext context, std::shared_ptr<Exchange> exchange, Principal by, JobId job)
      : context_(std::move(context)),
        exchange_(std::move(exchange)),
        by_(std::move(by)),
        job_(job) {}

  void wait(std::chrono::seconds limit) {
    if (is_over() || limit == std::chrono::seconds::zero()) return answer();
    token_ = context_->watch(job_, [self = weak_from_this()] {
      const auto waiter = self.lock();
      if (waiter && waiter->is_over()) waiter->answer();
    });
    exchange_->after(limit, [self = shared_from_this()] { self->answer(); });
  }

 private:
  [[nodiscard]] bool is_over() const {
    const Job* job = context_->state().find_job(job_);
    return job == nullptr || paceline::is_over(job->state);
  }

  void answer() {
    token_.reset();
    const auto job = context_->find(job_);
    if (!job) return exchange_->refuse(job.error());
    exchange_->reply({.body = context_->job_text(**job, by_)});
  }

  SharedContext context_;
  std::shared_ptr<Exchange> exchange_;
  Principal by_;
  JobId job_;
  ListenToken token_;
};

void wait_for_job(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                  const Principal& by) {
  const auto& request = exchange->request();
  const auto job = context->job(request);
  if (!job) return exchange->refuse(job.error());
  std::uint32_t limit = kWaitSecondsMax / 2;
  QueryReader query(request);
  query.whole("timeout_seconds", limit, 0, kWaitSecondsMax);
  if (auto read = query.finish(); !read) return exchange->refuse(read.error());
  std::make_shared<Waiter>(context, exchange, by, (*job)->id)->wait(std::chrono::seconds{limit});
}

}  // namespace

void add_job_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/jobs", Action::see,
             answering([context](const HttpRequest& request, const Principal& by) {
               return list_jobs(*context, request, by);
             }));
  routes.add("GET", "/v1/jobs/{id}", Action::see,
             answering([context](const HttpRequest& request, const Principal& by) {
               return show_job(*context, request, by);
             }));
  routes.add(
      "GET", "/v1/jobs/{id}/why", Action::see,
      [context](const auto& exchange, const auto& by) { explain_job(context, exchange, by); });
  routes.add(
      "GET", "/v1/jobs/{id}/metrics", Action::read_private,
      answering([context](const HttpRequest& request) { return show_metrics(*context, request); }));
  routes.add(
      "GET", "/v1/jobs/{id}/notify", Action::read_private,
      answering([context](const HttpRequest& request) { return show_notify(*context, request); }));
  routes.add(
      "GET", "/v1/jobs/{id}/wait", Action::see,
      [context](const auto& exchange, const auto& by) { wait_for_job(context, exchange, by); });
}

}  // namespace paceline
