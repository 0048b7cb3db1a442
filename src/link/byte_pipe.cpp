#include "link/byte_pipe.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <string>
#include <utility>

#include "loop/wakeup.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

// One direction.
struct Flow {
  explicit Flow(asio::io_context& io) : changed(io) {}

  [[nodiscard]] std::size_t size() const { return bytes.size() - begin; }
  void append(ServerStream::Pieces pieces, std::size_t room);
  std::size_t take(asio::mutable_buffer into);
  void drop() { begin = bytes.size(); }
  void close() {
    closed = true;
    tell();
  }
  void tell() {
    changed.tell();
    if (const auto due = std::exchange(on_news, nullptr)) asio::post(changed.executor(), due);
  }

  std::string bytes;
  std::size_t begin = 0;  // what lies before was read
  bool ended = false;     // nothing more comes
  bool closed = false;    // by either end
  Wakeup changed;
  std::function<void()> on_news;
};

void Flow::append(ServerStream::Pieces pieces, std::size_t room) {
  if (begin == bytes.size() || begin >= kPipeBytes) bytes.erase(0, std::exchange(begin, 0));
  for (const auto& piece : pieces) {
    const auto count = std::min(room, piece.size());
    bytes.append(static_cast<const char*>(piece.data()), count);
    room -= count;
  }
}

std::size_t Flow::take(asio::mutable_buffer into) {
  const auto count = std::min(into.size(), size());
  std::memcpy(into.data(), bytes.data() + begin, count);
  begin += count;
  return count;
}

class PipeEnd final : public ServerStream {
 public:
  PipeEnd(std::shared_ptr<Flow> in, std::shared_ptr<Flow> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~PipeEnd() override { close_flows(); }

  [[nodiscard]] const Peer& peer() const override { return peer_; }

  Awaitable<std::size_t> read_some(asio::mutable_buffer into, Failure& failure) override {
    const auto in = in_;
    while (in->size() == 0 && !in->ended && !in->closed) co_await in->changed.wait();
    const auto count = in->take(into);
    if (count == 0 && into.size() > 0) failure = asio::error::eof;
    if (count > 0) in->tell();
    co_return count;
  }
  Awaitable<std::size_t> write_some(Pieces pieces, Failure& failure) override {
    const auto out = out_;
    while (out->size() >= kPipeBytes && !out->closed) co_await out->changed.wait();
    if (out->closed || out->ended) {
      failure = asio::error::broken_pipe;
      co_return 0;
    }
    const auto before = out->size();
    out->append(pieces, kPipeBytes - before);
    out->tell();
    co_return out->size() - before;
  }
  void say_at_once(std::string_view text) override {
    const asio::const_buffer piece(text.data(), text.size());
    const auto room = kPipeBytes - std::min(kPipeBytes, out_->size());
    if (!out_->ended) out_->append({&piece, 1}, room);
    out_->tell();
  }
  void finish_sending() override {
    out_->ended = true;
    out_->tell();
  }
  void close() override { close_flows(); }

  [[nodiscard]] Presence presence() override {
    if (in_->closed) return Presence::gone;
    if (in_->size() > 0) return Presence::speaks;
    return in_->ended ? Presence::is_done : Presence::silent;
  }
  void when_not_silent(std::function<void()> due) override {
    if (presence() == Presence::silent)
      in_->on_news = std::move(due);
    else
      asio::post(in_->changed.executor(), std::move(due));
  }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  // What was written before the end can still be read by the other.
  void close_flows() {
    in_->drop();
    in_->close();
    out_->close();
  }

  Peer peer_;
  std::shared_ptr<Flow> in_, out_;
};

}  // namespace

BytePipe make_byte_pipe(asio::io_context& io) {
  const auto there = std::make_shared<Flow>(io), back = std::make_shared<Flow>(io);
  return {std::make_shared<PipeEnd>(there, back), std::make_shared<PipeEnd>(back, there)};
}

}  // namespace paceline
