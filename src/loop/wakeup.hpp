// Coroutines that wait for something that others of the same thread tell.
//
//   while (!ready()) co_await changed.wait();     // there: changed.tell()
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>

namespace paceline {

class Wakeup {
 public:
  explicit Wakeup(boost::asio::io_context& io)
      : timer_(std::make_shared<boost::asio::steady_timer>(
            io, std::chrono::steady_clock::time_point::max())) {}

  // Until the next tell(). Keeps nothing but itself alive.
  boost::asio::awaitable<void> wait() {
    const auto timer = timer_;
    boost::system::error_code told;
    co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, told));
  }
  void tell() { timer_->cancel(); }
  [[nodiscard]] auto executor() const { return timer_->get_executor(); }

 private:
  std::shared_ptr<boost::asio::steady_timer> timer_;
};

}  // namespace paceline
