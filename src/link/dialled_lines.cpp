#include "link/dialled_lines.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cstring>
#include <utility>

namespace asio = boost::asio;

namespace paceline {
namespace {

using Watched = asio::posix::stream_descriptor;

constexpr std::size_t kPieceBytes = 16 << 10;
constexpr int kPiecesOfTurn = 16;  // then others on the loop have their turn

}  // namespace

DialledLines::DialledLines(asio::io_context& io, Upgraded connection, std::size_t queue_bytes_max,
                           Owner owner)
    : watched_(io),
      stream_(std::move(connection.stream)),
      first_(std::move(connection.first)),
      owner_(std::move(owner)),
      queue_(queue_bytes_max) {}

DialledLines::~DialledLines() { cut(); }

void DialledLines::start() {
  boost::system::error_code failure;
  watched_.assign(stream_->descriptor(), failure);
  if (failure) over_ = true;
  if (failure) return owner_.over({ErrorCode::storage, failure.message(), {}, Retry::may_help});
  again();
}

bool DialledLines::send(std::string line) {
  if (over_) return true;
  if (!queue_.push(std::move(line))) return false;
  again();
  return true;
}

void DialledLines::cut() {
  over_ = true;
  queue_.clear();
  if (watched_.is_open()) (void)watched_.release();
  stream_.reset();
}

void DialledLines::again() {
  if (std::exchange(turn_waits_, true)) return;
  asio::post(watched_.get_executor(), [self = shared_from_this()] {
    self->turn_waits_ = false;
    self->turn();
  });
}

void DialledLines::turn() {
  if (over_) return;
  if (!first_.empty()) take(std::exchange(first_, {}));
  const short receiving = over_ ? short{0} : receive();
  const short sending = over_ ? short{0} : send_what_waits();
  if (over_) return;
  for (const short event : {short{POLLIN}, short{POLLOUT}}) {
    if (((receiving | sending) & event) != 0) await(event);
  }
}

// What to wait for before the next try.
short DialledLines::receive() {
  std::array<char, kPieceBytes> piece;
  for (int i = 0; i < kPiecesOfTurn; ++i) {
    const auto tried = stream_->receive(piece.data(), piece.size());
    if (tried.bytes == 0 && tried.awaits == 0) leave(tried.reason);
    if (tried.bytes == 0) return tried.awaits;
    take({piece.data(), tried.bytes});
    if (over_) return 0;
  }
  again();
  return 0;
}

short DialledLines::send_what_waits() {
  while (!queue_.empty()) {
    const auto next = queue_.next();
    const auto tried = stream_->send(next.data(), next.size());
    if (tried.bytes == 0 && tried.awaits == 0) leave(tried.reason);
    if (tried.bytes == 0) return tried.awaits;
    queue_.sent(tried.bytes);
  }
  return 0;
}

void DialledLines::await(short events) {
  bool& waits = events == POLLIN ? read_waits_ : write_waits_;
  if (std::exchange(waits, true)) return;
  watched_.async_wait(events == POLLIN ? Watched::wait_read : Watched::wait_write,
                      [self = shared_from_this(), &waits](const boost::system::error_code& error) {
                        waits = false;
                        if (!error) self->turn();
                      });
}

void DialledLines::take(std::string_view bytes) {
  owner_.heard();
  if (over_) return;
  const auto fed = lines_.feed(bytes, [this](std::string_view line) {
    owner_.line(line);
    return !over_;
  });
  if (!fed) leave(fed.error());
}

void DialledLines::leave(int reason) {
  if (reason == 0) {
    return leave({ErrorCode::unavailable, "The server ended the connection.",
                  "It is dialled again; look at the server if that goes on.", Retry::may_help});
  }
  leave({ErrorCode::unavailable,
         fmt::format("The connection to the server broke: {}.", std::strerror(reason)),
         "It is dialled again.", Retry::may_help});
}

void DialledLines::leave(Error why) {
  if (over_) return;
  cut();
  owner_.over(std::move(why));
}

}  // namespace paceline
