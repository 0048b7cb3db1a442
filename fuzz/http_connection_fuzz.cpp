// One client's bytes to the HTTP server: whatever comes, each answer is HTTP, the connection ends and
// holds nothing. The same bytes are sent at once and in two pieces: they are answered alike.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "http/connection.hpp"
#include "http/socket_listener.hpp"

using namespace paceline;

namespace {

Router routes() {
  Router router;
  router.add("GET", "/hello", [](const auto& exchange) { exchange->reply({.body = "{}"}); });
  router.add("POST", "/echo", [](const auto& exchange) {
    exchange->reply({.status = 201, .body = exchange->request().body});
  });
  router.add("GET", "/jobs/{id}", [](const auto& exchange) {
    exchange->reply({.body = exchange->request().ids.at(0)});
  });
  router.add("GET", "/events", [](const auto& exchange) {
    const auto stream = exchange->stream();
    stream->send({"", "1", "one"});
    stream->end();
  });
  return router;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string received(int fd) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const auto count = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(count));
  }
}

// What is answered to `first`, then `second`, then the end.
std::string answer(std::string_view first, std::string_view second) {
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there are descriptors");
  boost::asio::io_context io;
  ServerOptions options;
  options.header_bytes_max = 2 << 10;
  options.body_bytes_max = 1 << 10;
  options.keeper = [](const Peer&) { return false; };
  const auto context = std::make_shared<ServerContext>(io, routes(), options);
  {
    auto stream = serve_socket(io, UniqueFd(ends[0]));
    check(stream.has_value(), "a connection can be served");
    auto connection = std::make_shared<Connection>(std::move(*stream), context);
    boost::asio::co_spawn(io, Connection::run(std::move(connection)), boost::asio::detached);
  }
  send_all(ends[1], first);
  io.poll();
  send_all(ends[1], second);
  ::shutdown(ends[1], SHUT_WR);
  io.restart();
  io.run();
  auto text = received(ends[1]);
  ::close(ends[1]);
  check(context->traffic.total() == 0, "nothing is held for a client that is gone");
  return text;
}

// What is no request is refused at once where it comes whole, and else as soon as its end is known, or not at
// all, if the connection ends first.
std::string_view without_refusal(std::string_view text) {
  const std::size_t at = text.rfind("HTTP/1.1 ");
  if (at == std::string_view::npos) return text;
  const std::string_view last = text.substr(at);
  const bool refuses = last.starts_with("HTTP/1.1 400 ") || last.starts_with("HTTP/1.1 413 ");
  const bool closes = last.find("\r\nConnection: close\r\n") != std::string_view::npos;
  return refuses && closes ? text.substr(0, at) : text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto whole = answer(bytes, {});
  check(whole.empty() || whole.starts_with("HTTP/1.1 "), "an answer is HTTP");
  const auto half = bytes.size() / 2;
  const auto in_pieces = answer(bytes.substr(0, half), bytes.substr(half));
  check(without_refusal(in_pieces) == without_refusal(whole),
        "it doesn't matter in how many pieces a request comes");
  return 0;
}
