#include "agent/linux/stopped_watch.hpp"

namespace paceline::agent {
namespace {

constexpr auto kInterval = std::chrono::milliseconds{250};
constexpr auto kLooksAway = std::chrono::seconds{1};

}  // namespace

bool StoppedWatch::look(Steady::time_point now) {
  if (process_.pid == 0 || (looked_ && now < *looked_ + kInterval)) return false;
  if (looked_ && now > *looked_ + kLooksAway) since_.reset();
  looked_ = now;
  const auto stat = read_stat(process_.pid);
  if (!stat || stat->start_time != process_.start_time || stat->state != 'T') {
    since_.reset();
    return false;
  }
  if (!since_) since_ = now;
  return now - *since_ >= kStoppedMax;
}

}  // namespace paceline::agent
