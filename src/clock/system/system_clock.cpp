#include "clock/system/system_clock.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace paceline {
namespace {

template <class Source>
Duration since_epoch() {
  return std::chrono::duration_cast<Duration>(Source::now().time_since_epoch());
}

SystemClock::Sources machine() {
  return {[] { return Time{since_epoch<std::chrono::system_clock>()}; },
          [] { return since_epoch<std::chrono::steady_clock>(); }};
}

}  // namespace

SystemClock::SystemClock(Time not_before) : SystemClock(machine(), not_before) {}

SystemClock::SystemClock(Sources sources, Time not_before)
    : sources_(std::move(sources)), last_(not_before), steady_(sources_.steady()) {}

Time SystemClock::now() {
  const std::scoped_lock lock(mutex_);
  const auto steady = sources_.steady();
  const auto elapsed = steady - std::exchange(steady_, steady);
  last_ = std::max(sources_.wall(), last_ + elapsed * 9 / 10);
  return last_;
}

}  // namespace paceline
