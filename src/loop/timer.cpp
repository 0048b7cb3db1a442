#include "loop/timer.hpp"

#include <utility>

namespace paceline {

Timer::Timer(boost::asio::io_context& io) : timer_(io) {}

void Timer::at(Clock::time_point time, Call call) {
  call_ = std::make_shared<Call>(std::move(call));
  timer_.expires_at(time);
  // A call that is expired belongs to no timer any more, so `this` is not looked at.
  timer_.async_wait([this, mine = std::weak_ptr(call_)](const boost::system::error_code&) {
    if (mine.expired()) return;
    const auto due = std::exchange(call_, nullptr);
    (*due)();
  });
}

void Timer::cancel() {
  call_.reset();
  timer_.cancel();
}

}  // namespace paceline
