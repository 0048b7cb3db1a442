#include "api/ticker.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace paceline {

struct Ticker::Impl : std::enable_shared_from_this<Ticker::Impl> {
  Impl(boost::asio::io_context& io, std::chrono::milliseconds period_ms)
      : timer(io), period(period_ms) {}

  void schedule() {
    if (std::exchange(running, true)) return;
    timer.expires_after(period);
    timer.async_wait([self = shared_from_this()](boost::system::error_code error) {
      self->running = false;
      if (error) return;
      self->signal.emit();
      if (!self->signal.idle()) self->schedule();
    });
  }

  boost::asio::steady_timer timer;
  std::chrono::milliseconds period;
  Signal<> signal;
  bool running = false;
};

Ticker::Ticker(boost::asio::io_context& io, std::chrono::milliseconds period_ms)
    : impl_(std::make_shared<Impl>(io, period_ms)) {}

Ticker::~Ticker() { impl_->timer.cancel(); }

ListenToken Ticker::listen(std::function<void()> beat) {
  auto token = impl_->signal.listen(std::move(beat));
  impl_->schedule();
  return token;
}

}  // namespace paceline
