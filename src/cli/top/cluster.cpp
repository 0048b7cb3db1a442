#include "cli/top/cluster.hpp"

#include <algorithm>
#include <utility>

#include "cli/words/expected_text.hpp"

namespace paceline {
namespace {

constexpr std::ptrdiff_t kEndedMost = 1000;  // jobs that are over, the newest

}  // namespace

const Document& Cluster::job(std::int64_t id) const {
  static const Document nothing;
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nothing : found->second;
}

void Cluster::take_jobs(BoardNews& news, bool ended) {
  if (news.all_jobs) jobs_.clear();
  for (auto& job : news.jobs) {
    if (!job.is_object()) continue;
    const auto id = whole_of(job, "id");
    jobs_[id] = std::move(job);
  }
  const auto over = [](const auto& entry) { return is_over(entry.second); };
  if (!ended) std::erase_if(jobs_, over);
  auto count = std::ranges::count_if(jobs_, over);
  for (auto entry = jobs_.begin(); count > kEndedMost;) {
    const bool goes = over(*entry);
    entry = goes ? jobs_.erase(entry) : std::next(entry);
    if (goes) --count;
  }
}

bool Cluster::told(BoardNews& news, bool ended) {
  if (news.away) {
    if (!away_) away_ = {news.at, *news.away};
    return false;
  }
  if (news.server.is_null()) return false;
  away_.reset();
  at_ = news.at;
  server_ = std::move(news.server);
  if (!news.nodes.is_null()) nodes_ = std::move(news.nodes);
  if (!news.expected.is_null()) {
    expected_.clear();
    for (const auto& job : list_of(news.expected, "jobs")) expected_[whole_of(job, "id")] = job;
  }
  take_jobs(news, ended);
  for (auto& [id, job] : jobs_) {
    const auto found = expected_.find(id);
    put_expected(job, found == expected_.end() || is_over(job) ? Document() : found->second);
  }
  return true;
}

}  // namespace paceline
