#include "cli/words/job_filter.hpp"

#include <fnmatch.h>

#include <utility>

namespace paceline {

bool JobFilter::wants(const Document& job) const {
  if (wanted_.uid && whole_of(job, "uid") != *wanted_.uid) return false;
  if (wanted_.name && ::fnmatch(wanted_.name->c_str(), text_of(job, "name").c_str(), 0) != 0)
    return false;
  const auto ended = number_of(job, "ended_at");
  return !wanted_.since || !ended || *ended >= *wanted_.since;
}

void JobFilter::take(Document job) {
  if (!wants(job)) return;
  jobs_.push_back(std::move(job));
  if (wanted_.last && jobs_.size() > *wanted_.last) jobs_.pop_front();
}

Document JobFilter::jobs() {
  auto list = Document::array();
  for (auto& job : std::exchange(jobs_, {})) list.push_back(std::move(job));
  return {{"jobs", std::move(list)}, {"next", nullptr}};
}

}  // namespace paceline
