// What carries HTTP: byte streams, and where they come from. A server takes its streams from a
// Listener, a client gets its own from a Dialer. The rest of this folder knows no address family,
// no certificate and no credentials of a kernel: socket_listener.hpp and unix_dialer.hpp do.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "http/http.hpp"

namespace paceline {

// ---- of a server: nothing blocks; everything happens on the thread of its io_context ----

// The server's end of one connection. What waits ends with an error once it is closed.
class ServerStream {
 public:
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;
  using Failure = boost::system::error_code;
  using Pieces = std::span<const boost::asio::const_buffer>;

  virtual ~ServerStream() = default;

  // The other end. May be known only once something was read.
  [[nodiscard]] virtual const Peer& peer() const = 0;
  // Waits for bytes; how many came. `failure` is set when the peer is done, too.
  virtual Awaitable<std::size_t> read_some(boost::asio::mutable_buffer into, Failure& failure) = 0;
  // Waits until some bytes of the pieces could be handed out; how many.
  virtual Awaitable<std::size_t> write_some(Pieces pieces, Failure& failure) = 0;
  // Hands out at once what can be, as the last word to a client that is turned away.
  virtual void say_at_once(std::string_view text) = 0;
  // Tells the peer that nothing more comes.
  virtual void finish_sending() = 0;
  virtual void close() = 0;

  enum class Presence {
    silent,   // the peer is there
    speaks,   // something can be read
    is_done,  // it sends nothing more, but may still read
    gone,
  };
  [[nodiscard]] virtual Presence presence() = 0;
  // Calls `due` once the peer isn't silent any more; never after close().
  virtual void when_not_silent(std::function<void()> due) = 0;

  // Of the kernel.
  [[nodiscard]] virtual int descriptor() const = 0;
};

// Writes all of both, one after the other. False: the peer is gone, or `stream` was closed.
ServerStream::Awaitable<bool> write_all(ServerStream& stream, std::string_view head,
                                        std::string_view body = {});

// Where a server's connections come from.
class Listener {
 public:
  virtual ~Listener() = default;

  // Errors: conflict, storage, invalid.
  virtual Result<void> open() = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
  // Waits for the next. Nullptr with `failure` set: none could be accepted now, or it was closed.
  virtual ServerStream::Awaitable<std::shared_ptr<ServerStream>> accept(
      ServerStream::Failure& failure) = 0;
  // Nobody can connect any more.
  virtual void close() = 0;
};

// ---- of a client: a wait is a poll() ----

// The client's end of one connection.
class ClientStream {
 public:
  virtual ~ClientStream() = default;

  // What one try came to.
  struct Try {
    std::size_t bytes = 0;  // went over
    short awaits = 0;       // 0 bytes: the events of poll() after which to try again; 0: it is over
    int reason = 0;         // then: the errno; 0: the peer has ended it
  };
  // A receive() that filled its bytes may leave more that poll() doesn't tell of: another one does. A
  // send() that awaits is tried again with the same bytes, at most with more behind them.
  virtual Try receive(void* bytes, std::size_t size) = 0;
  virtual Try send(const void* bytes, std::size_t size) = 0;
  [[nodiscard]] virtual int descriptor() const = 0;
};

// The way to one server.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // Errors: unavailable (nobody answers there), forbidden, invalid (what answers is no such server).
  [[nodiscard]] virtual Result<std::unique_ptr<ClientStream>> dial() const = 0;
};

}  // namespace paceline
