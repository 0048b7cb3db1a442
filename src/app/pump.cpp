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
  timer_.cancel();
  if (!due) return;
  timer_.expires_after(std::max(Duration{1'000}, *due - now));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) wake();
  });
}

}  // namespace paceline
