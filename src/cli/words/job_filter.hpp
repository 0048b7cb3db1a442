// Which of the jobs that the API lists are shown: what `queue` is asked for beyond what the API
// knows. Jobs are looked at one by one, so that no more are held than are shown.
//
//   JobFilter filter({.name = "train*", .last = 20});
//   for (auto& job : page) filter.take(std::move(job));
//   Document jobs = filter.jobs();
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "cli/words/document.hpp"

namespace paceline {

struct JobsWanted {
  std::optional<std::int64_t> uid = {};  // whose
  std::optional<std::string> name = {};  // `*`, `?` and `[…]` as in a shell
  std::optional<double> since = {};      // not over before: seconds since 1970
  std::optional<std::size_t> last = {};  // only so many, the newest
};

class JobFilter {
 public:
  explicit JobFilter(JobsWanted wanted) : wanted_(std::move(wanted)) {}

  // REQUIRES: jobs come in the order of their ids.
  void take(Document job);
  // {"jobs": […], "next": null}, as the API's last page; the filter is empty then.
  [[nodiscard]] Document jobs();

 private:
  [[nodiscard]] bool wants(const Document& job) const;

  JobsWanted wanted_;
  std::deque<Document> jobs_;
};

}  // namespace paceline
