#include "messages/news.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace paceline {
namespace {

bool has_one_tier(const Job& job) {
  return job.spec->target && job.spec->target->deliver == job.spec->target->final;
}

void add_tiers(const Job& job, const Told& told, std::vector<News>& news) {
  if (job.target.delivered_at && !told.delivered && !has_one_tier(job))
    news.push_back({MessageKind::delivered, *job.target.delivered_at});
  if (!job.target.reached_at || told.final) return;
  news.push_back({MessageKind::final, *job.target.reached_at});
  if (has_one_tier(job)) news.back().also = MessageKind::delivered;
}

void add_end(const Job& job, const Told& told, std::vector<News>& news) {
  if (!is_over(job.state) || told.ended) return;
  news.push_back({MessageKind::ended, job.ended_at.value_or(job.changed_at)});
  if (job.state != JobState::failed && job.state != JobState::timeout) return;
  news.back().kind = MessageKind::failed;
  news.back().also = MessageKind::ended;
}

void mark_stall(Told& told, const News& news) {
  const Time since = time_from_us(static_cast<std::int64_t>(news.number));
  if (std::exchange(told.stalled_since, since) != since)
    told.stalled_owner = told.stalled_operator = false;
  if (news.only != Audience::operator_) told.stalled_owner = true;
  if (news.only != Audience::owner) told.stalled_operator = true;
}

}  // namespace

std::vector<News> news_of(const Job& job, const Told& told) {
  std::vector<News> news;
  if (job.started_at && !told.started) news.push_back({MessageKind::started, *job.started_at});
  add_tiers(job, told, news);
  const bool waits_again = job.state == JobState::pending && job.started_at;
  if (waits_again && job.attempt > told.attempt)
    news.push_back(
        {MessageKind::requeued, job.waiting_since, static_cast<std::uint64_t>(job.attempt)});
  add_end(job, told, news);
  std::ranges::stable_sort(news, {}, &News::at);
  return news;
}

void mark(Told& told, const News& news) {
  switch (news.kind) {
    case MessageKind::started:
      told.started = true;
      return;
    case MessageKind::delivered:
      told.delivered = true;
      return;
    case MessageKind::final:
      told.final = true;
      return;
    case MessageKind::ended:
    case MessageKind::failed:
      told.ended = true;
      return;
    case MessageKind::requeued:
      told.attempt = static_cast<std::int32_t>(news.number);
      return;
    case MessageKind::stalled:
      mark_stall(told, news);
      return;
  }
  check(false, "a kind of message");
}

std::optional<News> stall_of(const Job& job, const Told& told, Audience audience,
                             Duration stalled_after, Time heard_from) {
  if (job.state != JobState::running || !job.progress || !job.current) return std::nullopt;
  const Time reported = job.progress->reported_at;
  const bool knows = audience == Audience::owner ? told.stalled_owner : told.stalled_operator;
  if (knows && told.stalled_since == reported) return std::nullopt;
  const Time since =
      std::max({reported, job.current->started_at.value_or(reported), job.changed_at, heard_from});
  return News{MessageKind::stalled,
              since + stalled_after,
              static_cast<std::uint64_t>(to_us(reported)),
              {},
              audience};
}

}  // namespace paceline
