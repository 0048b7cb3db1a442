// The agent's end of a connection that speaks lines, driven by the loop: nothing here waits.
//
//   auto lines = std::make_shared<DialledLines>(io, std::move(*upgraded), kLineQueueBytesMax, owner);
//   lines->start();
//   lines->send(encode(frame));
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/client.hpp"
#include "link/frame_lines.hpp"
#include "link/line_queue.hpp"

namespace paceline {

class DialledLines final : public std::enable_shared_from_this<DialledLines> {
 public:
  // None of it is called any more after cut(); each may call that.
  struct Owner {
    std::function<void()> heard;                      // something came
    std::function<void(std::string_view line)> line;  // a whole line
    std::function<void(Error why)> over;              // the server has left, or sends no lines
  };

  DialledLines(boost::asio::io_context& io, Upgraded connection, std::size_t queue_bytes_max,
               Owner owner);
  ~DialledLines();

  // What came with the answer is taken first, from the loop. Called once.
  void start();
  // False: more waits than may, and this line doesn't.
  bool send(std::string line);
  // The connection ends at once.
  void cut();

 private:
  void turn();
  void take(std::string_view bytes);
  short receive();
  short send_what_waits();
  void await(short events);
  void again();
  void leave(int reason);
  void leave(Error why);

  boost::asio::posix::stream_descriptor watched_;  // the stream's own descriptor, lent
  std::unique_ptr<ClientStream> stream_;
  std::string first_;
  Owner owner_;
  FrameLines lines_;
  LineQueue queue_;
  bool over_ = false;
  bool turn_waits_ = false, read_waits_ = false, write_waits_ = false;
};

}  // namespace paceline
