#include "agent/linux/checkpoint_watch.hpp"

#include <algorithm>

namespace paceline::agent {
namespace {

constexpr std::int64_t kClockGrainNs = 20'000'000;  // file times are that much coarser than clocks

}  // namespace

CheckpointWatch::CheckpointWatch(std::int64_t started_us, std::int64_t newest_ns)
    : newest_ns_(std::max(newest_ns, started_us * 1'000 - kClockGrainNs)) {}

std::optional<std::string> CheckpointWatch::look(const std::vector<CheckpointMatch>& matches,
                                                 bool all_written) {
  const CheckpointMatch* best = nullptr;
  std::map<std::string, CheckpointMatch> now;
  for (const CheckpointMatch& match : matches) {
    if (match.modified_ns <= newest_ns_) continue;
    const auto before = last_.find(match.path);
    const bool same = before != last_.end() && before->second.size == match.size &&
                      before->second.modified_ns == match.modified_ns;
    const bool newer = best == nullptr || match.modified_ns > best->modified_ns ||
                       (match.modified_ns == best->modified_ns && match.path > best->path);
    if ((same || match.renamed || all_written) && newer) best = &match;
    now.emplace(match.path, match);
  }
  last_ = std::move(now);
  if (best == nullptr) return std::nullopt;
  newest_ns_ = best->modified_ns;
  return best->path;
}

}  // namespace paceline::agent
