// HTTP/1.1 over a unix socket, synchronous. The only place of the CLI that knows Boost.Beast.
//
//   HttpClient http("/run/paceline/paceline.sock");
//   auto answer = http.send({.method = "GET", .target = "/v1/jobs/7"});
//   if (!answer) return fail(answer.error());   // unavailable: it may be tried again
//
// A signal that an Interrupt (cli/interrupt.hpp) caught ends every wait here at once, with the
// error `unavailable` from send() and open(), with nothing from next().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/locate.hpp"
#include "cli/server_events.hpp"

namespace paceline {

struct HttpRequest {
  std::string method = "GET";
  std::string target = {};
  std::string body = {};             // JSON; empty: none
  std::string idempotency_key = {};  // empty: none
  Duration timeout = std::chrono::seconds{60};
};

struct HttpResponse {
  unsigned status = 0;
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(std::string socket);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Sends over the kept connection, or a new one if there is none or the server closed it before it
  // answered a byte. Errors: unavailable, forbidden.
  Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct Connection;

  std::string socket_;
  std::unique_ptr<Connection> connection_;
};

// A response that goes on: the events of `follow=1`.
class EventStream {
 public:
  // Errors: unavailable, forbidden, and those that the server answers with.
  static Result<EventStream> open(const std::string& socket, const std::string& target);
  ~EventStream();
  EventStream(EventStream&&) noexcept;
  EventStream& operator=(EventStream&&) noexcept;

  // The next event; nothing once `timeout` is over or a signal arrived. Errors: unavailable: the
  // stream ended.
  Result<std::optional<ServerEvent>> next(Duration timeout);

 private:
  struct State;
  explicit EventStream(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// A connection that was upgraded: raw bytes from here on.
struct Upgraded {
  Fd fd;
  std::string first;  // bytes that arrived with the answer
};

// Errors: unavailable, forbidden, and those that the server answers with.
Result<Upgraded> open_upgrade(const std::string& socket, const std::string& target,
                              const std::string& protocol);

}  // namespace paceline
