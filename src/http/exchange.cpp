#include "http/exchange.hpp"

#include <utility>

#include "base/check.hpp"
#include "http/connection.hpp"

namespace paceline {

void LiveStream::send(const StreamEvent& event) {
  if (over_) return;
  if (!queue_.push(event)) {
    cut("slow");
    return;
  }
  wake();
}

// An empty queue always takes something, so that a stream that waits for room is woken by its own
// reader.
bool LiveStream::has_room() const {
  const auto connection = connection_.lock();
  const bool room =
      !over_ && queue_.has_room() && (queue_.empty() || !connection || connection->has_room());
  if (!room) waits_for_room_ = true;
  return room;
}

void LiveStream::go_on_later() {
  const auto connection = connection_.lock();
  if (!connection) return;
  waits_for_room_ = true;
  if (std::exchange(goes_on_, true)) return;
  connection->later([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->goes_on_ = false;
    self->offer_room();
  });
}

void LiveStream::end() {
  over_ = true;
  on_room_ = {};
  on_gone_ = {};
  wake();
}

void LiveStream::on_gone(std::function<void()> gone) {
  if (gone_) return gone();
  on_gone_ = std::move(gone);
}

void LiveStream::offer_room() {
  if (!waits_for_room_ || !has_room()) return;
  waits_for_room_ = false;
  if (const auto ready = on_room_) ready();
}

void LiveStream::cut(std::string_view reason) {
  queue_.cut(reason);
  client_left();
}

void LiveStream::client_left() {
  if (std::exchange(over_, true)) return;
  gone_ = true;
  on_room_ = {};
  const auto gone = std::exchange(on_gone_, {});
  wake();
  if (gone) gone();
}

void LiveStream::wake() {
  if (const auto connection = connection_.lock()) connection->wake();
}

std::shared_ptr<HttpStream> LiveExchange::stream() {
  auto stream = std::make_shared<LiveStream>(connection_, stream_bytes_max_);
  if (gone_) stream->client_left();
  answer(stream);
  return stream;
}

void LiveExchange::tunnel(std::string protocol, std::shared_ptr<ServerStream> far) {
  answer(Tunnel{std::move(protocol), std::move(far)});
}

void LiveExchange::after(Duration wait, std::function<void()> due) {
  if (answered_ || gone_) return;
  timer_.expires_after(wait);
  timer_.async_wait(
      [self = weak_from_this(), due = std::move(due)](boost::system::error_code error) {
        const auto exchange = self.lock();
        if (!error && exchange && !exchange->answered_ && !exchange->gone_) due();
      });
}

void LiveExchange::client_left() {
  if (answered_ || std::exchange(gone_, true)) return;
  timer_.cancel();
  if (const auto gone = std::exchange(on_gone_, {})) gone();
}

void LiveExchange::answer(Answer answer) {
  check(!std::exchange(answered_, true), "an exchange is answered once");
  timer_.cancel();
  on_gone_ = {};
  if (gone_) return;
  if (const auto connection = connection_.lock()) connection->answer(std::move(answer));
}

}  // namespace paceline
