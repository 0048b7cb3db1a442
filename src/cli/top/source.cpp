#include "cli/top/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/client/job_curve.hpp"
#include "cli/client/log_tail.hpp"
#include "model/limits.hpp"

namespace paceline {
namespace {

constexpr std::int64_t kEventsPage = 1000;
constexpr std::size_t kOneByOneMax = 200;  // jobs; beyond, all are listed
constexpr std::int64_t kEndedMax = 1000;   // ids back from the newest
constexpr auto kNodesAtLeast = std::chrono::seconds{10};
constexpr int kExpectedPart = 20;  // one in so many seconds goes to expected times at most
constexpr int kLogPagesMax = 8;    // of a log in one look
// Bytes: less than any page that the server cuts off because there is more.
constexpr std::int64_t kLastPageMost = 64 << 10;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The jobs that an entry of the journal names.
void add_jobs(const Document& entry, std::set<std::int64_t>& jobs) {
  if (const auto job = whole_of(entry, "job"); job > 0) jobs.insert(job);
  for (const auto key : {"changes", "asked"}) {
    for (const auto& part : list_of(entry, key)) {
      if (const auto job = whole_of(part, "job"); job > 0) jobs.insert(job);
    }
  }
}

}  // namespace

BoardNews Source::look(const BoardWish& wish) {
  BoardNews news;
  if (auto looked = look_into(news, wish); !looked) {
    news = {};
    news.away = std::move(looked.error());
    next_ = 0;
  }
  news.at = seconds_now();
  return news;
}

Result<void> Source::look_into(BoardNews& news, const BoardWish& wish) {
  auto server = api_.get("/v1/server");
  if (!server) return fail(std::move(server.error()));
  news.server = std::move(*server);
  if (const auto pid = whole_of(news.server, "pid"); std::exchange(server_pid_, pid) != pid)
    next_ = 0;
  if (auto jobs = read_jobs(news, wish, whole_of(news.server, "seq")); !jobs) return jobs;
  if (auto nodes = read_nodes(news); !nodes) return nodes;
  if (auto expected = read_expected(news); !expected) return expected;
  if (wish.page) news.page = read_page(*wish.page);
  return {};
}

Result<void> Source::read_jobs(BoardNews& news, const BoardWish& wish, std::int64_t newest) {
  const bool known = next_ > 0 && ended_ == wish.ended;
  const auto from = next_;
  std::optional<std::set<std::int64_t>> ids;
  if (known) {
    auto named = changed(newest);
    if (!named) return fail(std::move(named.error()));
    ids = std::move(*named);
  }
  happened_ = !ids || next_ != from;
  if (ids) ids->insert(wish.seen.begin(), wish.seen.end());
  if (!ids || ids->size() > kOneByOneMax) {
    if (auto listed = list_jobs(news, wish.ended); !listed) return listed;
    next_ = newest + 1;
    ended_ = wish.ended;
    return {};
  }
  for (const auto id : *ids) {
    auto job = api_.get(job_target(static_cast<std::uint32_t>(id)));
    if (!job && job.error().code == ErrorCode::not_found) continue;
    if (!job) return fail(std::move(job.error()));
    news.jobs.push_back(std::move(*job));
  }
  return {};
}

Result<std::optional<std::set<std::int64_t>>> Source::changed(std::int64_t newest) {
  std::set<std::int64_t> jobs;
  if (newest < next_ - 1) return std::optional<std::set<std::int64_t>>();
  const auto page = api_.get(fmt::format("/v1/events?from={}&limit={}", next_, kEventsPage));
  if (!page) return fail(page.error());
  const auto next = whole_of(*page, "next");
  if (next <= newest || whole_of(*page, "first") > next_)
    return std::optional<std::set<std::int64_t>>();
  for (const auto& entry : list_of(*page, "events")) add_jobs(entry, jobs);
  next_ = next;
  return std::optional(std::move(jobs));
}

Result<void> Source::list_jobs(BoardNews& news, bool ended) {
  news.all_jobs = true;
  auto active = api_.jobs("", {});
  if (!active) return fail(std::move(active.error()));
  auto& list = (*active)["jobs"];
  for (auto& job : list) news.jobs.push_back(std::move(job));
  if (!ended) return {};
  const auto newest = newest_id(news.jobs.empty() ? 0 : whole_of(news.jobs.back(), "id"));
  if (!newest) return fail(newest.error());
  auto all = api_.get(fmt::format("/v1/jobs?all=1&limit={}&after={}", kEndedMax,
                                  std::max<std::int64_t>(*newest - kEndedMax, 0)));
  if (!all) return fail(std::move(all.error()));
  for (const auto& job : list_of(*all, "jobs")) {
    if (is_over(job)) news.jobs.push_back(job);
  }
  return {};
}

// Ids are given one after the other: the newest is found by halves.
Result<std::int64_t> Source::newest_id(std::int64_t known) {
  const auto any_after = [&](std::int64_t id) -> Result<bool> {
    const auto page = api_.get(fmt::format("/v1/jobs?all=1&limit=1&after={}", id));
    if (!page) return fail(page.error());
    return !list_of(*page, "jobs").empty() || whole_of(*page, "next") > 0;
  };
  std::int64_t below = known,
               step = 1;  // there may be one after `below`, there is none after `last`
  for (;; step *= 2) {
    const auto more = any_after(below + step);
    if (!more) return fail(more.error());
    if (!*more) break;
    below += step;
  }
  std::int64_t last = below + step;
  while (below < last) {
    const auto middle = below + (last - below) / 2;
    const auto more = any_after(middle);
    if (!more) return fail(more.error());
    if (*more)
      below = middle + 1;
    else
      last = middle;
  }
  return last;
}

Result<void> Source::read_nodes(BoardNews& news) {
  const auto now = Clock::now();
  if (!happened_ && now < nodes_due_) return {};
  auto nodes = api_.get("/v1/nodes");
  if (!nodes) return fail(std::move(nodes.error()));
  news.nodes = std::move(*nodes);
  nodes_due_ = now + kNodesAtLeast;
  return {};
}

Result<void> Source::read_expected(BoardNews& news) {
  const auto began = Clock::now();
  if (began < expected_due_) return {};
  auto expected = api_.expected();
  if (!expected && expected.error().code != ErrorCode::not_found)
    return fail(std::move(expected.error()));
  if (expected) news.expected = std::move(*expected);
  const auto ended = Clock::now();
  expected_due_ = ended + (ended - began) * kExpectedPart;
  return {};
}

// They are many, and change once the target is met and once the job is over.
Result<void> Source::read_points(const Document& job) {
  const CurveOf of{whole_of(job, "id"), is_over(job), flag_of(member(job, "target"), "reached")};
  if (curve_of_ == of) return {};
  auto curve = read_curve(api_, job);
  if (!curve) return fail(std::move(curve.error()));
  curve_ = std::move(*curve);
  curve_of_ = of;
  return {};
}

PageNews Source::read_page(std::uint32_t id) {
  PageNews news{.id = id};
  const auto failed = [&](Error error) {
    news = {.id = id};
    news.failed = std::move(error);
    return news;
  };
  auto job = api_.get(job_target(id));
  if (!job) return failed(std::move(job.error()));
  if (auto curve = read_points(*job); !curve) return failed(std::move(curve.error()));
  auto why = api_.get(job_target(id, "why"));
  if (!why) return failed(std::move(why.error()));
  news.job = std::move(*job);
  news.curve = curve_;
  news.why = std::move(*why);
  return news;
}

Result<void> Source::begin_log(LogNews& news) {
  news.anew = true;
  log_next_.clear();
  const auto tails = read_log_tail(api_, {news.of.job, news.of.rank, news.of.lines});
  if (!tails) return fail(tails.error());
  for (const auto& [rank, tail] : *tails) {
    news.chunks.push_back({{"rank", rank}, {"text", tail.text()}});
    log_next_[rank] = tail.next;
  }
  return {};
}

// What was written since, as one page. Returns its bytes.
Result<std::int64_t> Source::read_on(LogNews& news) {
  std::string query = news.of.rank ? fmt::format("rank={}&", *news.of.rank) : "";
  for (std::string_view before = "offset="; const auto& [rank, next] : log_next_)
    query += fmt::format("{}{}:{}", std::exchange(before, ","), rank, next);
  const auto page = api_.get(fmt::format("{}?{}", job_target(news.of.job, "logs"), query));
  if (!page) return fail(page.error());
  std::int64_t bytes = 0;
  for (const auto& chunk : list_of(*page, "chunks")) {
    bytes += whole_of(chunk, "next") - whole_of(chunk, "offset");
    log_next_[whole_of(chunk, "rank")] = whole_of(chunk, "next");
    news.chunks.push_back(chunk);
  }
  return bytes;
}

LogNews Source::read_log(const LogWish& wish) {
  LogNews news{.of = wish};
  if (log_ != wish) {
    if (auto begun = begin_log(news); !begun)
      news.failed = std::move(begun.error());
    else
      log_ = wish;
    return news;
  }
  for (int page = 0; page < kLogPagesMax; ++page) {
    const auto bytes = read_on(news);
    if (!bytes) news.failed = bytes.error();
    if (!bytes || *bytes < kLastPageMost) break;
  }
  return news;
}

}  // namespace paceline
