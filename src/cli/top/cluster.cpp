#include "cli/top/cluster.hpp"

#include <utility>

#include "cli/words/expected_text.hpp"

namespace paceline {

const Document& Cluster::job(std::int64_t id) const {
  static const Document nothing;
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nothing : found->second;
}

void Cluster::take_jobs(News& news, bool ended) {
  if (news.all_jobs) jobs_.clear();
  for (auto& job : news.jobs) {
    if (!job.is_object()) continue;
    const auto id = whole_of(job, "id");
    jobs_[id] = std::move(job);
  }
  if (!ended) std::erase_if(jobs_, [](const auto& entry) { return is_over(entry.second); });
}

void Cluster::told(News& news, bool ended) {
  if (news.away) {
    if (!away_) away_ = {news.at, *news.away};
    return;
  }
  if (news.server.is_null()) return;
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
}

}  // namespace paceline
