// The far end of a tunnel that speaks lines: what the peer sends comes out as whole lines, and lines
// that go in leave in order. Used on the thread of its io_context.
//
//   auto stream = std::make_shared<LineStream>(io, kLineQueueBytesMax, owner);
//   stream->send(first_line);
//   exchange->tunnel("paceline-link", stream);
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "http/transport.hpp"
#include "link/frame_lines.hpp"
#include "link/line_queue.hpp"

namespace paceline {

class LineStream final : public ServerStream {
 public:
  // None of it is called any more once the owner has ended the stream.
  struct Owner {
    std::function<void()> heard;                       // something came
    std::function<void(std::string_view line)> line;   // a whole line
    std::function<void(const std::string& why)> over;  // the peer has left, or sends no lines
  };

  LineStream(boost::asio::io_context& io, std::size_t queue_bytes_max, Owner owner);

  // ---- for its owner ----
  // False: more waits than may, and this line doesn't.
  bool send(std::string line);
  // Once what waits has left, and the peer had the time to read it, the connection ends.
  void end();
  // It ends at once.
  void cut();

  // ---- ServerStream, for the connection ----
  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Awaitable<std::size_t> read_some(boost::asio::mutable_buffer into, Failure& failure) override;
  Awaitable<std::size_t> write_some(Pieces pieces, Failure& failure) override;
  void say_at_once(std::string_view text) override;
  void finish_sending() override;
  void close() override;
  [[nodiscard]] Presence presence() override;
  void when_not_silent(std::function<void()> due) override;
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  using Instant = std::chrono::steady_clock::time_point;
  enum class Phase { open, ending, over };

  void take(std::string_view bytes);
  void leave(const std::string& why);
  void wake();
  std::size_t hand_out(boost::asio::mutable_buffer into);

  Owner owner_;
  Peer peer_;
  FrameLines lines_;
  LineQueue queue_;
  boost::asio::steady_timer wake_;
  std::function<void()> when_not_silent_;
  Instant until_ = Instant::max();
  Phase phase_ = Phase::open;
};

}  // namespace paceline
