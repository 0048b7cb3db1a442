#include "http/connection.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <exception>
#include <utility>

#include "http/request_header.hpp"
#include "http/url.hpp"

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace paceline {
namespace {

using boost::system::error_code;

constexpr std::size_t kSmallReadBytes = 4 << 10;
constexpr std::size_t kLargeReadBytes = 64 << 10;
constexpr std::size_t kSpareBytes = 64 << 10;  // of a body that a keeper may always send
constexpr std::size_t kDiscardBytesMax = 64 << 20;
constexpr int kFirstRefusal = 400;
constexpr std::chrono::milliseconds kDiscardTime{2'000};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

Connection::Instant now() { return std::chrono::steady_clock::now(); }

std::string head_of(const HttpResponse& response, bool keep_alive) {
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  auto head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
                          response.status, std::string_view(reason.data(), reason.size()),
                          response.content_type, response.body.size());
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
}

template <class Message>
std::vector<std::pair<std::string, std::string>> headers_of(const Message& message) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const auto& field : message) {
    headers.emplace_back(field.name_string().to_string(), field.value().to_string());
  }
  return headers;
}

Error no_room(std::string_view whose) {
  return {ErrorCode::unavailable,
          fmt::format("{} hold as much of the server's memory as they may.", whose),
          "Read the answers to earlier requests, or try again in a moment.", Retry::may_help};
}

Error internal_error() {
  return {ErrorCode::internal, "Paceline failed to answer this request.",
          "Look at the server's log for the cause.", Retry::useless};
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerStream> stream, std::shared_ptr<ServerContext> context)
    : socket_(std::move(stream)),
      origin_(socket_->peer().origin),
      context_(std::move(context)),
      load_(context_->traffic, origin_),
      wake_(context_->io),
      proved_(context_->options.proof_ms.count() == 0) {
  buffer_.reserve(kSmallReadBytes);
}

Connection::Awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  for (bool again = true; again && self->phase_ != Phase::closed;) {
    again = co_await self->read_request();
    if (!again || self->phase_ == Phase::closed) break;
    self->dispatch();
    while (self->answer_.index() == 0 && self->phase_ == Phase::handling) {
      co_await self->sleep_until(Instant::max());
    }
    again = co_await self->deliver();
  }
  self->close();
}

Connection::Awaitable<bool> Connection::read_request() {
  enter(Phase::reading);
  load_.set(0);
  expect_within(proved_ ? context_->options.idle_ms : context_->options.proof_ms);
  if (buffer_.size() == 0 && buffer_.capacity() > kSmallReadBytes) {
    buffer_.shrink_to_fit();
    buffer_.reserve(kSmallReadBytes);
  }
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(context_->options.header_bytes_max));
  parser_->body_limit(context_->options.body_bytes_max);
  const bool read = co_await read_header();
  if (!read) co_return false;
  if (parser_->is_done()) co_return true;
  // Of somebody who hasn't shown that they may ask, no body is read.
  if (!proved_) {
    if (auto admitted = admit(); !admitted) co_return co_await reject(std::move(admitted.error()));
  }
  const auto length = parser_->content_length().value_or(context_->options.body_bytes_max);
  if (length <= context_->options.body_bytes_max) {
    if (auto room = take_body(length); !room) co_return co_await reject(std::move(room.error()));
  }
  co_return co_await read_body();
}

Connection::Awaitable<bool> Connection::read_header() {
  std::string header;  // as it was sent, in however many pieces
  for (;;) {
    error_code error;
    const auto bytes = buffer_.cdata();
    const auto count = buffer_.size() > 0 ? parser_->put(bytes, error) : 0;
    header.append(static_cast<const char*>(bytes.data()), count);
    buffer_.consume(count);
    // The parser's own limit counts from behind what it has consumed.
    if (header.size() > context_->options.header_bytes_max)
      co_return co_await reject(error_code{http::error::header_limit});
    if (parser_->is_header_done()) {
      const auto plain = check_header(header, parser_->get());
      if (!plain) co_return co_await reject(plain.error());
      co_return true;
    }
    if (error && error != http::error::need_more) co_return co_await reject(error);
    const auto more = co_await socket_->read_some(buffer_.prepare(kSmallReadBytes), error);
    if (error) co_return false;
    buffer_.commit(more);
  }
}

Connection::Awaitable<bool> Connection::read_body() {
  if (proved_) expect_within(context_->options.body_ms);
  if (parser_->content_length().value_or(kLargeReadBytes) > kSmallReadBytes) {
    buffer_.reserve(kLargeReadBytes);
  }
  if (parser_->get()[http::field::expect] == "100-continue") {
    const bool told = co_await write(kContinue);
    if (!told) co_return false;
  }
  parser_->eager(true);
  for (;;) {
    error_code error;
    const auto used = buffer_.size() > 0 ? parser_->put(buffer_.cdata(), error) : 0;
    buffer_.consume(used);
    if (error && error != http::error::need_more) co_return co_await reject(error);
    if (parser_->is_done()) co_return true;
    if (!error && used > 0 && buffer_.size() > 0) continue;
    const auto more = co_await socket_->read_some(buffer_.prepare(kLargeReadBytes), error);
    if (error) co_return false;
    buffer_.commit(more);
  }
}

// Says why a request can not be read, where that can still be said. Always false.
Connection::Awaitable<bool> Connection::reject(error_code error) {
  const auto& limits = context_->options;
  Error reason{ErrorCode::invalid, fmt::format("This is not an HTTP request: {}.", error.message()),
               "Speak HTTP/1.1.", Retry::useless};
  if (error == http::error::header_limit) {
    reason = {ErrorCode::too_large,
              fmt::format("The header of the request is over {} bytes.", limits.header_bytes_max),
              {},
              Retry::useless};
  } else if (error == http::error::body_limit) {
    reason = {ErrorCode::too_large,
              fmt::format("The body of the request is over {} bytes.", limits.body_bytes_max),
              {},
              Retry::useless};
  }
  co_return co_await reject(std::move(reason));
}

Connection::Awaitable<bool> Connection::reject(Error error) {
  keep_alive_ = false;
  const bool written = co_await write_response(error_response(error));
  if (!written) co_await discard_rest();
  co_return false;
}

Result<void> Connection::take_body(std::size_t bytes) {
  const auto& traffic = context_->traffic;
  const bool keeper = context_->keeps(peer());
  const bool fits = keeper ? bytes <= kSpareBytes || traffic.leaves_room(bytes)
                           : traffic.has_room(origin_, bytes);
  if (!fits)
    return fail(
        no_room(keeper || traffic.has_room(bytes) ? "Your requests" : "All users' requests"));
  load_.set(bytes);
  return {};
}

// An answer may go beyond the bound that was not reached before it.
Result<void> Connection::take_answer() {
  const auto& traffic = context_->traffic;
  if (context_->keeps(peer())) {
    while (!traffic.has_room(1) && context_->make_room()) {
    }
    return {};
  }
  const bool mine = load_.bytes() > 0;  // its own body doesn't count
  if (mine || traffic.has_room(origin_, 1)) return {};
  return fail(no_room(traffic.has_room(1) ? "Your unread answers" : "All users' unread answers"));
}

void Connection::dispatch() {
  enter(Phase::handling);
  deadline_ = Instant::max();
  woken_ = false;
  answer_ = {};
  auto& message = parser_->get();
  keep_alive_ = message.keep_alive() && message.version() >= 11 && !context_->stopping;
  if (const auto room = take_answer(); !room) {
    answer(error_response(room.error()));
    return;
  }
  const auto target = message.target();
  auto url = parse_url({target.data(), target.size()});
  if (!url) {
    answer(error_response(url.error()));
    return;
  }
  HttpRequest request{peer(),
                      message.method_string().to_string(),
                      std::move(url->path),
                      std::move(url->query),
                      headers_of(message),
                      std::move(message.body()),
                      {}};
  route(std::move(request));
}

// By the header alone; of a node its certificate says all.
Result<void> Connection::admit() const {
  if (!context_->options.admit) return {};
  HttpRequest request;
  request.peer = peer();
  if (!request.peer.certificate) request.headers = headers_of(parser_->get());
  return context_->options.admit(request);
}

void Connection::route(HttpRequest request) {
  const auto& options = context_->options;
  if (const auto admitted = options.admit ? options.admit(request) : Result<void>{}; !admitted) {
    answer(error_response(admitted.error()));
    return;
  }
  auto found = context_->router.find(request.method, request.path);
  if (found.handler == nullptr) {
    answer(std::move(found.refusal));
    return;
  }
  request.ids = std::move(found.ids);
  exchange_ = std::make_shared<LiveExchange>(shared_from_this(), asio::steady_timer(context_->io),
                                             options.stream_bytes_max, std::move(request));
  try {
    (*found.handler)(exchange_);
  } catch (const std::exception& defect) {
    spdlog::error("a route failed: {}", defect.what());
    exchange_->client_left();
    answer(error_response(internal_error()));
  }
}

Result<void> Connection::may_tunnel() const {
  const auto& node = peer().certificate;
  if (!node || context_->tunnels.has_room(node->node)) return {};
  return fail(ErrorCode::unavailable, "The node has as many connections as it may.",
              "Try again in a moment.", Retry::may_help);
}

void Connection::answer(Answer answer) {
  if (phase_ != Phase::handling) return;
  answer_ = std::move(answer);
  wake();
}

// Writes the answer; true if another request may follow.
Connection::Awaitable<bool> Connection::deliver() {
  exchange_.reset();
  Answer answer = std::exchange(answer_, {});
  if (phase_ == Phase::closed) co_return false;
  enter(Phase::writing);
  if (auto* response = std::get_if<HttpResponse>(&answer)) {
    load_.set(response->body.size());
    proved_ = proved_ || response->status < kFirstRefusal;
    co_return co_await write_response(std::move(*response));
  }
  if (auto* stream = std::get_if<std::shared_ptr<LiveStream>>(&answer)) {
    co_await write_stream(std::move(*stream));
  }
  if (auto* there = std::get_if<Tunnel>(&answer)) {
    if (auto room = may_tunnel(); !room) {
      there->far->close();
      co_return co_await reject(std::move(room.error()));
    }
    co_await tunnel(std::move(*there));
  }
  co_return false;
}

Connection::Awaitable<bool> Connection::write_response(HttpResponse response) {
  const std::string head = head_of(response, keep_alive_);
  const bool written = co_await write(head, response.body);
  co_return written&& keep_alive_;
}

Connection::Awaitable<bool> Connection::write(std::string_view head, std::string_view body) {
  expect_within(context_->options.write_ms);
  co_return co_await write_all(*socket_, head, body);
}

// A client that is still sending would lose our answer to a reset connection.
Connection::Awaitable<void> Connection::discard_rest() {
  error_code error;
  socket_->finish_sending();
  expect_within(kDiscardTime);
  std::array<char, 4096> waste;
  for (std::size_t count = 0; !error && count < kDiscardBytesMax;) {
    count += co_await socket_->read_some(asio::buffer(waste), error);
  }
}

Connection::Awaitable<void> Connection::sleep_until(Instant at) {
  if (!woken_ && phase_ != Phase::closed) {
    wake_.expires_at(at);
    error_code cancelled;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  woken_ = false;
}

void Connection::wake() {
  if (stream_) load_.set(stream_->queue().bytes());
  woken_ = true;
  wake_.cancel();
}

void Connection::later(std::function<void()> call) { asio::post(context_->io, std::move(call)); }

void Connection::enter(Phase phase) {
  phase_ = phase;
  entered_ = now();
}

Connection::Worth Connection::worth() const {
  if (node_tunnel_) return Worth::kept;
  if (phase_ == Phase::writing) return Worth::unread;
  if (phase_ != Phase::reading) return Worth::busy;
  if (proved_) return Worth::resting;
  return parser_ && parser_->is_header_done() ? Worth::unproved : Worth::silent;
}

bool Connection::has_room() const {
  return context_->keeps(peer()) ? context_->traffic.has_room(1)
                                 : context_->traffic.has_room(origin_, 1);
}

void Connection::expect_within(std::chrono::milliseconds span) { deadline_ = now() + span; }

// Most answers come at once; only a client that waits longer is watched.
void Connection::check_deadline(Instant at) {
  if (phase_ == Phase::handling) watch();
  const bool has_no_end = phase_ == Phase::streaming || phase_ == Phase::tunnelling;
  const bool is_asked = context_->options.proof_ms.count() > 0;
  if (has_no_end && is_asked && !admit()) return close();
  if (at < deadline_) return;
  if (phase_ != Phase::streaming || stream_->queue().is_cut()) {
    close();
    return;
  }
  deadline_ = at + context_->options.stall_ms;
  stream_->cut("slow");
}

void Connection::wind_down() {
  keep_alive_ = false;
  if (phase_ == Phase::reading || phase_ == Phase::tunnelling) close();
  if (phase_ == Phase::streaming) {
    expect_within(context_->options.stall_ms);
    stream_->cut("stopping");
  }
}

void Connection::close() {
  if (std::exchange(phase_, Phase::closed) == Phase::closed) return;
  socket_->close();
  if (far_end_) far_end_->close();
  node_tunnel_.reset();
  wake();
  if (const auto exchange = std::exchange(exchange_, nullptr)) exchange->client_left();
  if (const auto stream = std::exchange(stream_, nullptr)) stream->client_left();
  load_.set(0);
}

// A watch that is still pending from an earlier request serves this one too.
void Connection::watch() {
  if (std::exchange(watching_, true)) return;
  socket_->when_not_silent([self = shared_from_this()] {
    self->watching_ = false;
    self->look();
  });
}

// Something can be read: the next request (then it waits its turn) or the end.
void Connection::look() {
  if (phase_ != Phase::handling && phase_ != Phase::streaming) return;
  const auto presence = socket_->presence();
  if (presence == ServerStream::Presence::silent) return watch();
  if (presence == ServerStream::Presence::gone) close();
}

}  // namespace paceline
