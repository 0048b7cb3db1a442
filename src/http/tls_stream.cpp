#include "http/tls_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace paceline {
namespace {

constexpr std::size_t kLingerBytesMax = 64 << 10;

// Of several pieces as many bytes as one record carries, in `room`; or the one that there is.
std::string_view one_record(ServerStream::Pieces pieces, std::vector<char>& room) {
  std::string_view only;
  for (const auto& piece : pieces) {
    const std::string_view bytes(static_cast<const char*>(piece.data()), piece.size());
    if (bytes.empty()) continue;
    if (only.empty() && room.empty()) {
      if (bytes.size() >= kTlsRecordBytes) return bytes;
      only = bytes;
      continue;
    }
    if (room.empty()) {
      room.reserve(kTlsRecordBytes);
      room.assign(only.begin(), only.end());
    }
    const auto more = std::min(bytes.size(), kTlsRecordBytes - room.size());
    room.insert(room.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
    if (room.size() == kTlsRecordBytes) break;
  }
  return room.empty() ? only : std::string_view(room.data(), room.size());
}

}  // namespace

TlsStream::Awaitable<bool> TlsStream::wait_for_word() {
  const auto self = shared_from_this();
  Failure failure;
  co_await wait_for(POLLIN, failure);
  co_return !failure;
}

TlsStream::Awaitable<bool> TlsStream::shake_hands(ssl_ctx_st& context) {
  const auto self = shared_from_this();
  session_.emplace(context, descriptor(), TlsSide::server);
  Failure failure;
  const auto done = co_await repeat([&] { return session_->shake_hands(); }, failure);
  if (done == 0) co_return false;
  peer_.certificate = session_->peer_name();
  if (peer_.certificate) peer_.origin = to_uri(*peer_.certificate);
  co_return true;
}

TlsStream::Awaitable<void> TlsStream::linger() {
  const auto self = shared_from_this();
  Failure failure;
  socket_.shutdown(Socket::shutdown_send, failure);
  std::array<char, 4096> waste{};
  for (std::size_t count = 0; !failure && count < kLingerBytesMax;) {
    count += co_await socket_.async_read_some(asio::buffer(waste),
                                              asio::redirect_error(asio::use_awaitable, failure));
  }
}

TlsStream::Awaitable<std::size_t> TlsStream::read_some(asio::mutable_buffer into,
                                                       Failure& failure) {
  co_return co_await repeat([&] { return session_->receive(into.data(), into.size()); }, failure);
}

TlsStream::Awaitable<std::size_t> TlsStream::write_some(Pieces pieces, Failure& failure) {
  std::vector<char> room;
  const auto record = one_record(pieces, room);
  if (record.empty()) co_return 0;
  co_return co_await repeat([&] { return session_->send(record.data(), record.size()); }, failure);
}

// Even what can be done at once lets others have their turn; they had it where it was waited for.
template <class Attempt>
TlsStream::Awaitable<std::size_t> TlsStream::repeat(Attempt attempt, Failure& failure) {
  failure = {};
  for (bool waited = false;; waited = true) {
    if (!socket_.is_open()) failure = asio::error::operation_aborted;
    if (failure) co_return 0;
    const auto tried = attempt();
    if (tried.bytes > 0) {
      if (!waited) co_await asio::post(socket_.get_executor(), asio::use_awaitable);
      co_return tried.bytes;
    }
    if (tried.awaits != 0)
      co_await wait_for(tried.awaits, failure);
    else if (tried.reason != 0)
      failure = {tried.reason, boost::system::system_category()};
    else
      failure = asio::error::eof;
  }
}

TlsStream::Awaitable<void> TlsStream::wait_for(short awaited, Failure& failure) {
  const auto event = awaited == POLLIN ? Socket::wait_read : Socket::wait_write;
  co_await socket_.async_wait(event, asio::redirect_error(asio::use_awaitable, failure));
}

void TlsStream::say_at_once(std::string_view text) {
  if (socket_.is_open()) (void)session_->send(text.data(), text.size());
}

void TlsStream::finish_sending() {
  if (!socket_.is_open()) return;
  const auto tried = session_->finish();
  if (tried.awaits == 0) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const Failure& failure) {
    if (!failure) self->finish_sending();
  });
}

void TlsStream::close() {
  if (!socket_.is_open()) return;
  if (session_) (void)session_->finish();
  Failure ignored;
  socket_.close(ignored);
}

TlsStream::Presence TlsStream::presence() {
  return socket_.is_open() ? session_->presence() : Presence::gone;
}

void TlsStream::when_not_silent(std::function<void()> due) {
  const auto look = [self = shared_from_this(), due = std::move(due)](const Failure& failure) {
    if (failure || !self->socket_.is_open()) return;
    const auto seen = self->presence();
    const bool waits_on = seen == Presence::silent || seen == Presence::is_done;
    if (waits_on) return self->when_not_silent(due);
    due();
  };
  if (session_->holds_bytes()) return asio::post(socket_.get_executor(), [look] { look({}); });
  socket_.async_wait(Socket::wait_read, look);
}

int TlsStream::descriptor() const { return const_cast<Socket&>(socket_).native_handle(); }

}  // namespace paceline
