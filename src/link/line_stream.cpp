#include "link/line_stream.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <utility>

namespace asio = boost::asio;

namespace paceline {
namespace {

// A connection that is closed before its peer has read takes the last line with it.
constexpr std::chrono::seconds kLinger{2};

}  // namespace

LineStream::LineStream(asio::io_context& io, std::size_t queue_bytes_max, Owner owner)
    : owner_(std::move(owner)), queue_(queue_bytes_max), wake_(io) {}

// ---- for its owner ----

bool LineStream::send(std::string line) {
  if (phase_ != Phase::open) return true;
  if (!queue_.push(std::move(line))) return false;
  wake();
  return true;
}

void LineStream::end() {
  if (phase_ != Phase::open) return;
  phase_ = Phase::ending;
  until_ = std::chrono::steady_clock::now() + kLinger;
  wake();
}

void LineStream::cut() {
  phase_ = Phase::over;
  queue_.clear();
  wake();
}

// ---- for the connection ----

ServerStream::Awaitable<std::size_t> LineStream::read_some(asio::mutable_buffer into,
                                                           Failure& failure) {
  const auto waits = [this] {
    return queue_.empty() && phase_ != Phase::over && std::chrono::steady_clock::now() < until_;
  };
  while (waits()) {
    Failure woken;
    wake_.expires_at(until_);
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  failure = queue_.empty() ? Failure(asio::error::eof) : Failure();
  co_return hand_out(into);
}

std::size_t LineStream::hand_out(asio::mutable_buffer into) {
  std::size_t bytes = 0;
  while (bytes < into.size() && !queue_.empty()) {
    const auto next = queue_.next().substr(0, into.size() - bytes);
    std::memcpy(static_cast<char*>(into.data()) + bytes, next.data(), next.size());
    bytes += next.size();
    queue_.sent(next.size());
  }
  return bytes;
}

ServerStream::Awaitable<std::size_t> LineStream::write_some(Pieces pieces, Failure& failure) {
  failure = {};
  for (const auto& piece : pieces) take({static_cast<const char*>(piece.data()), piece.size()});
  if (phase_ == Phase::over) failure = asio::error::operation_aborted;
  co_return asio::buffer_size(pieces);
}

// What comes once the end was said is of no interest.
void LineStream::take(std::string_view bytes) {
  if (phase_ != Phase::open || bytes.empty()) return;
  owner_.heard();
  const auto fed = lines_.feed(bytes, [this](std::string_view line) {
    owner_.line(line);
    return phase_ == Phase::open;
  });
  if (!fed) leave(fed.error().message);
}

void LineStream::leave(const std::string& why) {
  const bool told = std::exchange(phase_, Phase::over) != Phase::open;
  queue_.clear();
  wake();
  if (!told) owner_.over(why);
}

void LineStream::say_at_once(std::string_view text) { take(text); }
void LineStream::finish_sending() { leave("The connection was closed."); }
void LineStream::close() { leave("The connection was closed."); }

ServerStream::Presence LineStream::presence() {
  if (phase_ == Phase::over) return Presence::gone;
  return queue_.empty() ? Presence::silent : Presence::speaks;
}

void LineStream::when_not_silent(std::function<void()> due) {
  when_not_silent_ = std::move(due);
  if (presence() == Presence::speaks) wake();
}

void LineStream::wake() {
  wake_.cancel();
  if (phase_ == Phase::over) when_not_silent_ = {};
  if (const auto due = std::exchange(when_not_silent_, {})) due();
}

}  // namespace paceline
