#include "app/pump.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace paceline {

void Pump::wake() {
  if (awake_) return;
  awake_ = true;
  boost::asio::post(io_, [this] { turn(); });
}

void Pump::turn() {
  awake_ = false;
  const Time now = clock_.now();
  std::optional<Time> first;
  for (const auto& step : steps_) {
    const auto due = step(now);
    if (due && (!first || *due < *first)) first = due;
  }
  sleep_until(first, now);
}

void Pump::sleep_until(std::optional<Time> due, Time now) {
  if (!due) return timer_.cancel();
  timer_.after(std::max(Duration{1'000}, *due - now), [this] { wake(); });
}

}  // namespace paceline
