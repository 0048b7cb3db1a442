#include "agent/linux/http_listener.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <vector>

namespace paceline::agent {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Socket = asio::generic::stream_protocol::socket;

namespace {

constexpr auto kConnectionIdleMax = std::chrono::seconds{60};
constexpr auto kFirstMax = std::chrono::seconds{10};  // for the first request to come
constexpr std::uint32_t kHeaderMax = 8 << 10;
constexpr unsigned kFirstRefusal = 400;
constexpr unsigned kBusy = 503;
constexpr auto kBusyPause = std::chrono::milliseconds{50};
constexpr auto kBusyPatience = std::chrono::seconds{10};
constexpr auto kAcceptPause = std::chrono::milliseconds{50};
constexpr int kDescriptorsKept = 64;  // for starts and ends

class HttpConnection;

// The kernel hands out the lowest number that is free, so a high one says that few are left.
bool is_a_last_descriptor(int fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(fd) + kDescriptorsKept >= limit.rlim_cur;
}

}  // namespace

struct HttpListener::State : std::enable_shared_from_this<State> {
  State(asio::io_context& io_context, Handler answer)
      : io(io_context), listening(io_context), pause(io_context), handler(std::move(answer)) {}

  void accept();
  void accept_later();
  void take(int fd);
  [[nodiscard]] bool make_room();

  asio::io_context& io;
  asio::posix::stream_descriptor listening;
  asio::steady_timer pause;
  Handler handler;
  std::vector<std::shared_ptr<HttpConnection>> connections;  // the oldest first
  bool closed = false;
};

namespace {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(asio::io_context& io, Socket socket, const HttpListener::Handler& handler,
                 std::function<void(const std::shared_ptr<HttpConnection>&)> over)
      : socket_(std::move(socket)), timer_(io), handler_(handler), over_(std::move(over)) {}

  void read();
  void close();

  // How little is lost by closing it, the least first. Whoever hasn't shown that he may ask anything
  // is closed before those that have; one that is being answered never is.
  enum class Worth { silent, unproved, resting, answered };
  [[nodiscard]] Worth worth() const;

 private:
  void answer();
  void ask(int again);
  void refuse(const boost::system::error_code& error);
  void write(HttpReply reply, bool keep_alive);
  void expect_within_limit();

  Socket socket_;
  asio::steady_timer timer_;
  const HttpListener::Handler& handler_;
  std::function<void(const std::shared_ptr<HttpConnection>&)> over_;
  boost::beast::flat_buffer buffer_{kHeaderMax + HttpListener::kBodyMax};
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest asked_;
  bool reading_ = false;
  bool proved_ = false;  // a request of it was good
  http::response<http::string_body> response_;
};

HttpConnection::Worth HttpConnection::worth() const {
  if (!reading_) return Worth::answered;
  if (proved_) return Worth::resting;
  return parser_->is_header_done() ? Worth::unproved : Worth::silent;
}

void HttpConnection::expect_within_limit() {
  timer_.expires_after(proved_ ? kConnectionIdleMax : kFirstMax);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->close();
  });
}

void HttpConnection::read() {
  expect_within_limit();
  reading_ = true;
  parser_.emplace();
  parser_->header_limit(kHeaderMax);
  parser_->body_limit(HttpListener::kBodyMax);
  http::async_read(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (!self->socket_.is_open()) return;
        self->reading_ = false;
        if (error)
          self->refuse(error);
        else
          self->answer();
      });
}

void HttpConnection::answer() {
  const auto& request = parser_->get();
  asked_.method = std::string(request.method_string());
  asked_.path = std::string(request.target().substr(0, request.target().find('?')));
  asked_.authorization = std::string(request[http::field::authorization]);
  asked_.body = request.body();
  ask(kBusyPatience / kBusyPause);
}

void HttpConnection::ask(int again) {
  HttpReply reply = handler_(asked_);
  proved_ = proved_ || reply.status < kFirstRefusal;
  if (reply.status != kBusy || again == 0)
    return write(std::move(reply), parser_->get().keep_alive());
  timer_.expires_after(kBusyPause);
  timer_.async_wait([self = shared_from_this(), again](const boost::system::error_code& error) {
    if (!error && self->socket_.is_open()) self->ask(again - 1);
  });
}

void HttpConnection::refuse(const boost::system::error_code& error) {
  if (error == http::error::body_limit)
    return write(http_error(413, "too_large", "A body may have 64 KiB."), false);
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return write(http_error(413, "too_large", "A header may have 8 KiB."), false);
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message)
    return write(http_error(400, "invalid", "This is not an HTTP request."), false);
  close();
}

void HttpConnection::write(HttpReply reply, bool keep_alive) {
  response_ = {};
  response_.version(11);
  response_.result(reply.status);
  response_.set(http::field::content_type, "application/json");
  response_.body() = std::move(reply.body);
  response_.keep_alive(keep_alive);
  response_.prepare_payload();
  http::async_write(
      socket_, response_,
      [self = shared_from_this(), keep_alive](const boost::system::error_code& error, std::size_t) {
        if (!self->socket_.is_open()) return;
        if (error || !keep_alive)
          self->close();
        else
          self->read();
      });
}

void HttpConnection::close() {
  if (!socket_.is_open()) return;
  boost::system::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
  timer_.cancel();
  over_(shared_from_this());
}

}  // namespace

HttpReply http_error(unsigned status, std::string_view code, std::string_view message) {
  const nlohmann::json body{{"error", {{"code", code}, {"message", message}, {"hint", ""}}}};
  return {status, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

void HttpListener::State::accept() {
  listening.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (error || self->closed) return;
                         const int fd = ::accept4(self->listening.native_handle(), nullptr, nullptr,
                                                  SOCK_CLOEXEC | SOCK_NONBLOCK);
                         const bool exhausted =
                             fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
                         if (fd >= 0) self->take(fd);
                         if (exhausted) return self->accept_later();
                         self->accept();
                       });
}

// No descriptor is left: whoever waits goes on waiting, and this thread does other things.
void HttpListener::State::accept_later() {
  pause.expires_after(kAcceptPause);
  pause.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->closed) self->accept();
  });
}

// Closes the oldest of those that are worth least.
bool HttpListener::State::make_room() {
  const auto least = std::ranges::min_element(
      connections, {}, [](const auto& connection) { return connection->worth(); });
  if (least == connections.end() || (*least)->worth() == HttpConnection::Worth::answered)
    return false;
  std::shared_ptr(*least)->close();
  return true;
}

void HttpListener::State::take(int fd) {
  if ((connections.size() >= kConnectionsMax && !make_room()) || is_a_last_descriptor(fd)) {
    ::close(fd);
    return;
  }
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  boost::system::error_code error;
  Socket socket(io);
  socket.assign(asio::generic::stream_protocol(address.ss_family, 0), fd, error);
  if (error) {
    ::close(fd);
    return;
  }
  const auto over = [weak = weak_from_this()](const std::shared_ptr<HttpConnection>& connection) {
    if (const auto state = weak.lock()) std::erase(state->connections, connection);
  };
  const auto connection = std::make_shared<HttpConnection>(io, std::move(socket), handler, over);
  connections.push_back(connection);
  connection->read();
}

HttpListener::HttpListener(asio::io_context& io, UniqueFd listening, Handler handler)
    : state_(std::make_shared<State>(io, std::move(handler))) {
  boost::system::error_code error;
  state_->listening.assign(listening.get(), error);
  if (error) return;
  static_cast<void>(listening.release());
  state_->accept();
}

bool HttpListener::listens() const { return state_->listening.is_open(); }

HttpListener::~HttpListener() {
  state_->closed = true;
  boost::system::error_code ignored;
  state_->listening.close(ignored);
  state_->pause.cancel();
  for (const auto& connection : std::vector(state_->connections)) connection->close();
}

}  // namespace paceline::agent
