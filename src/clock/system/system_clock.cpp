#include "clock/system/system_clock.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

namespace paceline {
namespace {

template <class Source>
Duration since_epoch() {
  return std::chrono::duration_cast<Duration>(Source::now().time_since_epoch());
}

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

ClockSources machine() {
  return {[] { return WallTime{since_epoch<std::chrono::system_clock>()}; },
          [] { return since_epoch<std::chrono::steady_clock>(); }, read_boot_id()};
}

}  // namespace

SystemClock::SystemClock() : SystemClock(machine()) {}

SystemClock::SystemClock(ClockSources sources) : sources_(std::move(sources)) {
  boot_ = {sources_.boot_id, Time{sources_.wall().time_since_epoch() - sources_.steady()}};
}

void SystemClock::resume(Time last, const std::optional<Boot>& boot) {
  if (last == Time{}) return;
  const Duration steady = sources_.steady();
  const bool same = boot && !boot->id.empty() && boot->id == boot_.id;
  const Time now = same ? boot->at + steady : last;
  boot_.at = std::max(now, last + Duration{1}) - steady;
}

}  // namespace paceline
