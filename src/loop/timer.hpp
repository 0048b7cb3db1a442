// Calls something on the loop, once its time has come.
//
//   Timer timer(io);
//   timer.after(std::chrono::seconds{5}, [this] { look(); });
//
// Nothing is called once the timer has gone, was cancelled or was set anew, even where the time had come
// by then and the call stood in the loop's queue: what is called may use whatever the timer is a part of.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

namespace paceline {

class Timer {
 public:
  using Clock = std::chrono::steady_clock;
  using Call = std::function<void()>;

  // REQUIRES: `io` outlives it; one thread runs `io` and makes every call.
  explicit Timer(boost::asio::io_context& io);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() = default;

  // In place of what was to be called before. The call may set the timer again, or end it.
  void at(Clock::time_point time, Call call);
  void after(Clock::duration span, Call call) { at(Clock::now() + span, std::move(call)); }
  void cancel();
  // Something is still to be called.
  [[nodiscard]] bool set() const { return call_ != nullptr; }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<Call> call_;
};

}  // namespace paceline
