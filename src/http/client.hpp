// HTTP/1.1 as a client speaks it, synchronous, to whatever server its dialer reaches.
//
//   HttpClient http({.dialer = std::make_shared<UnixDialer>("/run/paceline/paceline.sock")});
//   auto answer = http.send({.method = "GET", .target = "/v1/jobs/7"});
//   if (!answer) return fail(answer.error());   // unavailable: it may be tried again
//
// What `interrupted` tells of ends every wait here at once, with the error `unavailable` from
// send() and open(), with nothing from next().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/http.hpp"
#include "http/server_events.hpp"
#include "http/transport.hpp"

namespace paceline {

// A server as a client reaches it.
struct ServerAddress {
  std::shared_ptr<const Dialer> dialer;
  // A descriptor that can be read once all waits shall end; -1 or empty: there is none.
  std::function<int()> interrupted = {};
  // What the server knows the caller by; empty: their account on the machine, which it sees.
  std::string token = {};
  // Of the caller's program, which a server compares with its own; empty: not told.
  std::string version = {};
};

struct ClientRequest {
  std::string method = "GET";
  std::string target = {};
  std::string body = {};  // empty: none
  std::string content_type = "application/json";
  std::string idempotency_key = {};  // empty: none
  Duration timeout = std::chrono::seconds{60};
};

class HttpClient {
 public:
  explicit HttpClient(ServerAddress server);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Sends over the kept connection, or a new one if there is none or the server closed it before it
  // answered a byte. Errors: unavailable, forbidden.
  Result<HttpResponse> send(const ClientRequest& request);

 private:
  struct Connection;

  ServerAddress server_;
  std::unique_ptr<Connection> connection_;
};

// A response that goes on: the events of `follow=1`.
class EventStream {
 public:
  // Errors: unavailable, forbidden, and those that the server answers with.
  static Result<EventStream> open(const ServerAddress& server, const std::string& target);
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
  std::unique_ptr<ClientStream> stream;
  std::string first;  // bytes that arrived with the answer
};

// Errors: unavailable, forbidden, and those that the server answers with.
Result<Upgraded> open_upgrade(const ServerAddress& server, const std::string& target,
                              const std::string& protocol);

}  // namespace paceline
