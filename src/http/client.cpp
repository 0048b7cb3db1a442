#include "http/client.hpp"

#include <fmt/format.h>

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <limits>
#include <utility>

#include "http/client_wait.hpp"
#include "wire/error_json.hpp"

namespace paceline {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using beast::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::uint64_t kBodyMax = 256 << 20;
constexpr std::size_t kEventMax = 16 << 20;
constexpr std::size_t kReadSize = 64 << 10;

// A connection as Beast wants it: blocking reads and writes that end at a deadline or when the wait
// is interrupted.
class Wire {
 public:
  Wire(std::unique_ptr<ClientStream> stream, std::function<int()> interrupted)
      : stream_(std::move(stream)), interrupted_(std::move(interrupted)) {}

  void expires_after(Duration timeout) { deadline_ = std::chrono::steady_clock::now() + timeout; }
  [[nodiscard]] std::unique_ptr<ClientStream> release() { return std::move(stream_); }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& ec) {
    const auto buffer = first_of<net::mutable_buffer>(buffers);
    return transfer(ec, [&] { return stream_->receive(buffer.data(), buffer.size()); });
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, error_code& ec) {
    const auto buffer = first_of<net::const_buffer>(buffers);
    return transfer(ec, [&] { return stream_->send(buffer.data(), buffer.size()); });
  }
  // Beast's concept asks for throwing forms too; nothing here calls them.
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    error_code ec;
    const auto size = read_some(buffers, ec);
    if (ec) throw beast::system_error{ec};
    return size;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    error_code ec;
    const auto size = write_some(buffers, ec);
    if (ec) throw beast::system_error{ec};
    return size;
  }

 private:
  template <class Buffer, class Buffers>
  static Buffer first_of(const Buffers& buffers) {
    for (auto at = net::buffer_sequence_begin(buffers); at != net::buffer_sequence_end(buffers);
         ++at) {
      if (Buffer(*at).size() > 0) return Buffer(*at);
    }
    return {};
  }

  template <class Operation>
  std::size_t transfer(error_code& ec, Operation operation) {
    for (;;) {
      const ClientStream::Try tried = operation();
      ec = {};
      if (tried.bytes > 0) return tried.bytes;
      if (tried.awaits == 0) {
        ec = tried.reason == 0 ? error_code(net::error::eof)
                               : error_code(tried.reason, beast::generic_category());
        return 0;
      }
      if (ec = wait(tried.awaits); ec) return 0;
    }
  }

  error_code wait(short events) const {
    switch (wait_for_events(stream_->descriptor(), events, deadline_, interrupted_)) {
      case Waited::too_long:
        return beast::error::timeout;
      case Waited::interrupted:
        return net::error::operation_aborted;
      case Waited::ready:
        break;
    }
    return {};
  }

  std::unique_ptr<ClientStream> stream_;
  std::function<int()> interrupted_;
  SteadyTime deadline_ = SteadyTime::max();
};

Result<Wire> dial(const ServerAddress& server) {
  auto stream = server.dialer->dial();
  if (!stream) return fail(std::move(stream.error()));
  return Wire(std::move(*stream), server.interrupted);
}

tl::unexpected<Error> lost(const error_code& ec) {
  if (ec == beast::error::timeout) {
    return fail(ErrorCode::unavailable, "The server does not answer.",
                "Look at the terminal or the log where 'paceline up' runs.", Retry::may_help);
  }
  if (ec == error_code(EKEYREJECTED, beast::generic_category())) {
    return fail(ErrorCode::forbidden, "The server does not accept this machine's certificate.",
                "Compare the clocks of both machines; if they agree, let this one join again.");
  }
  return fail(ErrorCode::unavailable, "The connection to the server was lost.",
              "See whether 'paceline up' still runs, then try again.", Retry::may_help);
}

http::request<http::string_body> compose(const ServerAddress& server,
                                         const ClientRequest& request) {
  http::request<http::string_body> message;
  message.method_string(request.method);
  message.target(request.target);
  message.set(http::field::host, "paceline");
  if (!server.token.empty()) message.set(http::field::authorization, "Bearer " + server.token);
  if (!server.version.empty()) message.set("Paceline-Version", server.version);
  if (!request.idempotency_key.empty()) message.set("Idempotency-Key", request.idempotency_key);
  if (!request.body.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  return message;
}

bool ends_wait(const error_code& ec) {
  return ec == beast::error::timeout || ec == net::error::operation_aborted;
}

}  // namespace

struct HttpClient::Connection {
  explicit Connection(Wire wire) : stream(std::move(wire)) {}

  // The answer. `answered` tells whether a byte of it came, whatever the outcome.
  error_code exchange(const http::request<http::string_body>& request, Duration timeout,
                      HttpResponse& response, bool& answered);

  Wire stream;
  beast::flat_buffer buffer;
  bool keeps = true;
};

error_code HttpClient::Connection::exchange(const http::request<http::string_body>& request,
                                            Duration timeout, HttpResponse& response,
                                            bool& answered) {
  error_code ec;
  stream.expires_after(timeout);
  http::write(stream, request, ec);
  if (ec) return ec;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyMax);
  http::read(stream, buffer, parser, ec);
  answered = parser.got_some() || buffer.size() > 0;
  if (ec) return ec;
  keeps = parser.keep_alive();
  response.status = static_cast<int>(parser.get().result_int());
  response.body = std::move(parser.get().body());
  return {};
}

HttpClient::HttpClient(ServerAddress server) : server_(std::move(server)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpResponse> HttpClient::send(const ClientRequest& request) {
  const auto message = compose(server_, request);
  for (;;) {
    const bool kept = connection_ != nullptr;
    if (!kept) {
      auto wire = dial(server_);
      if (!wire) return fail(std::move(wire.error()));
      connection_ = std::make_unique<Connection>(std::move(*wire));
    }
    HttpResponse response;
    bool answered = false;
    const auto ec = connection_->exchange(message, request.timeout, response, answered);
    if (ec || !connection_->keeps) connection_.reset();
    if (!ec) return response;
    if (!kept || answered || ends_wait(ec)) return lost(ec);
  }
}

struct EventStream::State {
  explicit State(Wire wire) : stream(std::move(wire)) {
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  Wire stream;
  beast::flat_buffer buffer{kReadSize};
  http::response_parser<http::string_body> parser;
  ServerEventParser events;
};

EventStream::EventStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
EventStream::~EventStream() = default;
EventStream::EventStream(EventStream&&) noexcept = default;
EventStream& EventStream::operator=(EventStream&&) noexcept = default;

Result<EventStream> EventStream::open(const ServerAddress& server, const std::string& target) {
  auto wire = dial(server);
  if (!wire) return fail(std::move(wire.error()));
  auto state = std::make_unique<State>(std::move(*wire));
  error_code ec;
  ClientRequest request;
  request.target = target;
  state->stream.expires_after(request.timeout);
  http::write(state->stream, compose(server, request), ec);
  if (!ec) http::read_header(state->stream, state->buffer, state->parser, ec);
  if (ec) return lost(ec);
  if (state->parser.get().result() == http::status::ok) return EventStream(std::move(state));
  http::read(state->stream, state->buffer, state->parser, ec);
  if (ec) return lost(ec);
  return fail(read_error(state->parser.get().body()));
}

Result<std::optional<ServerEvent>> EventStream::next(Duration timeout) {
  state_->stream.expires_after(timeout);
  for (;;) {
    auto event = state_->events.next();
    if (event) return event;
    if (state_->parser.is_done() || state_->events.unread() > kEventMax) {
      return lost(net::error::eof);
    }
    error_code ec;
    http::read_some(state_->stream, state_->buffer, state_->parser, ec);
    auto& body = state_->parser.get().body();
    state_->events.feed(body);
    body.clear();
    if (ec && ends_wait(ec)) return std::nullopt;
    if (ec) return lost(ec);
  }
}

Result<Upgraded> open_upgrade(const ServerAddress& server, const std::string& target,
                              const std::string& protocol) {
  auto wire = dial(server);
  if (!wire) return fail(std::move(wire.error()));
  Wire& stream = *wire;
  auto request = compose(server, {.target = target});
  request.set(http::field::connection, "Upgrade");
  request.set(http::field::upgrade, protocol);
  error_code ec;
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  stream.expires_after(ClientRequest{}.timeout);
  http::write(stream, request, ec);
  if (!ec) http::read_header(stream, buffer, parser, ec);
  if (ec) return lost(ec);
  if (parser.get().result() == http::status::switching_protocols) {
    return Upgraded{stream.release(), beast::buffers_to_string(buffer.data())};
  }
  http::read(stream, buffer, parser, ec);
  if (ec) return lost(ec);
  return fail(read_error(parser.get().body()));
}

}  // namespace paceline
