// A small HTTP server on one listening socket, for training scripts: JSON in, JSON out, keep-alive.
// Bounded in connections, header, body and time; an error on one connection ends that connection
// alone. When there are as many as may be, the next one takes the place of the oldest that has not
// sent a request yet, so that connections that ask nothing keep nobody out. Connections never take
// the last descriptors of the process, which starts and ends of workers need.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/linux/fd.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline::agent {

struct HttpRequest {
  std::string method;  // "GET", …
  std::string path;    // without the query
  std::string authorization;
  std::string body;
};

struct HttpReply {
  unsigned status = 200;
  std::string body;  // JSON
};

// `{"error": {"code": …, "message": …, "hint": ""}}`
HttpReply http_error(unsigned status, std::string_view code, std::string_view message);

class HttpListener {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  static constexpr std::size_t kConnectionsMax = 64;
  static constexpr std::size_t kBodyMax = 64 << 10;

  // Accepts on `listening` (a bound, listening stream socket of any family) until destroyed, which
  // also drops all connections. A request that the handler answers with 503 waits and is handed to
  // it again, for kBusyPatience at most: then whoever sent it is told.
  HttpListener(boost::asio::io_context& io, UniqueFd listening, Handler handler);
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  // False: the machine lacked what that takes, and nobody is served.
  [[nodiscard]] bool listens() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace paceline::agent
