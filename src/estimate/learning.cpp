#include "estimate/learning.hpp"

#include <algorithm>

namespace paceline {
namespace {

constexpr double kNewestStep = 0.2;    // of the newest step time beside or without others, at least
constexpr double kNewestRate = 0.3;    // of the newest rate among those of its size, at least
constexpr double kNewestPause = 0.5;   // of the newest pause
constexpr double kNewestLength = 0.2;  // of the newest length of a name, at least

// Of the n-th value: the plain mean while there are few.
double newest_weight(std::uint32_t n, double least) { return std::max(least, 1.0 / n); }

void learn_pause(double& mean, std::int32_t& count, double seconds) {
  ++count;
  mean += newest_weight(static_cast<std::uint32_t>(count), kNewestPause) * (seconds - mean);
}

}  // namespace

void learn(Mean& mean, double sample, std::uint64_t seq) {
  ++mean.count;
  mean.value += (sample - mean.value) * newest_weight(mean.count, kNewestStep);
  mean.seq = seq;
}

void learn_rate(SpeedPoint& point, double rate) {
  const double weight = newest_weight(point.reports + 1, kNewestRate);
  const double off = rate - point.rate;
  point.variance = (1 - weight) * (point.variance + weight * off * off);
  if (point.reports == 0) point.variance = 0;
  point.rate += weight * off;
  ++point.reports;
}

void learn_pause(Job& job, double seconds) {
  learn_pause(job.resize_pause, job.resize_pauses, seconds);
}

void learn_pause_in_place(Job& job, double seconds) {
  learn_pause(job.in_place_pause, job.in_place_pauses, seconds);
}

void learn_length(NameHistory& history, double seconds, Time at) {
  ++history.completed;
  history.seconds += newest_weight(history.completed, kNewestLength) * (seconds - history.seconds);
  history.last = at;
}

}  // namespace paceline
