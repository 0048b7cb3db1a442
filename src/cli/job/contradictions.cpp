#include "cli/job/contradictions.hpp"

#include <fmt/format.h>

#include "cli/words/text.hpp"

namespace paceline {

namespace {

void add_lengths(const JobSpec& spec, WallTime now, std::vector<std::string>& sentences) {
  if (!spec.expected_duration) return;
  const auto length = human_duration(to_seconds(*spec.expected_duration));
  if (spec.deadline && now + *spec.expected_duration > *spec.deadline) {
    sentences.push_back(
        fmt::format("The deadline can't be met: it is in {}, and the job expects to run {}.",
                    human_duration(to_seconds(*spec.deadline - now)), length));
  }
  if (spec.max_duration && *spec.expected_duration > *spec.max_duration) {
    sentences.push_back(
        fmt::format("The job will be stopped before it is done: it may run {}, and expects {}.",
                    human_duration(to_seconds(*spec.max_duration)), length));
  }
}

}  // namespace

std::vector<std::string> contradictions(const JobSpec& spec, WallTime now) {
  std::vector<std::string> sentences;
  add_lengths(spec, now, sentences);
  if (spec.elastic == Elastic::no && spec.workers.min < spec.workers.max) {
    sentences.push_back(
        fmt::format("Its size stays what it starts with, one of {} to {} workers: --elastic no.",
                    spec.workers.min, spec.workers.max));
  }
  return sentences;
}

}  // namespace paceline
