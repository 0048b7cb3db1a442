// What a route sees of HTTP: a request, and the exchange that answers it, once, at any later time.
// Everything here is used on the one thread that runs the server. No network type in sight: routes
// stay light, and tests answer them without sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "trust/certificate_name.hpp"

namespace paceline {

class ServerStream;

// The account at the other end of a unix socket, as the kernel knows it.
struct UnixAccount {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t pid = 0;
  std::vector<std::uint32_t> groups = {};  // the supplementary ones
};

// What the transport tells about the other end.
struct Peer {
  std::string origin = {};  // bounds for each user go by it: "uid 1000", an address,
                            // or the name in its certificate
  std::optional<UnixAccount> account = {};  // none: the transport knows of none
  // What the certificate names that it showed, once that is verified; none: it showed none.
  std::optional<CertificateName> certificate = {};
};
Peer unix_peer(UnixAccount account);

struct HttpRequest {
  Peer peer = {};
  std::string method = {};                        // "GET"
  std::string path = {};                          // decoded, without the query
  std::map<std::string, std::string> query = {};  // decoded; of a key that stands twice, the last
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::vector<std::string> ids = {};  // what the {…} of the route's pattern stand for, in order

  // The first header of that name, in any case; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  // besides type and length
};

// The response that tells an error (wire/error_json.hpp).
HttpResponse error_response(const Error& error);

// One server-sent event. `id` is where a client that lost the stream goes on.
struct StreamEvent {
  std::string event;  // empty: "message"
  std::string id;     // may be empty
  std::string data;
};

// A response without an end: server-sent events, with a comment as heartbeat when nothing happens.
// A producer sends while has_room() and goes on when on_room calls it. A reader that takes nothing
// for a while, or a producer that ignores has_room(), cuts the stream: the client gets a last event
// `cut` with {"reason", "resume"}, where `resume` is the id of the last event it got.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  virtual void send(const StreamEvent& event) = 0;
  // True while the client is there and less than half of the queue is taken.
  [[nodiscard]] virtual bool has_room() const = 0;
  // Closes the connection once everything sent so far has left.
  virtual void end() = 0;
  // `ready` is called each time room was made after has_room() was false.
  virtual void on_room(std::function<void()> ready) = 0;
  // The same in the next turn of the loop: for a producer that seeks long and fills no room.
  virtual void go_on_later() = 0;
  // `gone` is called once, when the client left or was cut (at once if it has); not after end().
  virtual void on_gone(std::function<void()> gone) = 0;
};

// One request and the way to answer it. Exactly one of reply(), stream() and tunnel() is called,
// once; the holder of an exchange may do so at any time, also when the client has left by then.
class Exchange {
 public:
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const HttpRequest& request() const = 0;
  virtual void reply(HttpResponse response) = 0;
  // Starts a stream of server-sent events as the answer.
  virtual std::shared_ptr<HttpStream> stream() = 0;
  // Answers 101 with `protocol` and passes bytes to `far` and back until either side closes.
  virtual void tunnel(std::string protocol, std::shared_ptr<ServerStream> far) = 0;
  // Calls `due` after `wait`, unless the request is answered or the client gone by then. A second
  // call replaces the first.
  virtual void after(Duration wait, std::function<void()> due) = 0;
  // `gone` is called once if the client leaves before the answer.
  virtual void on_gone(std::function<void()> gone) = 0;

  void refuse(const Error& error) { reply(error_response(error)); }
};

// Answers a request, now or later. May keep the exchange.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace paceline
