#include "http/server.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <optional>
#include <utility>

#include "http/connection.hpp"
#include "wire/error_json.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{50};

const Error& too_many_of_all() {
  static const Error error{ErrorCode::unavailable,
                           "The server has as many connections as it takes.",
                           "Try again in a moment.", Retry::may_help};
  return error;
}

const Error& too_many_of_one() {
  static const Error error{ErrorCode::unavailable,
                           "You have as many connections to the server as one user may.",
                           "Close some; 'paceline limits' shows how many.", Retry::may_help};
  return error;
}

// Tells a client to come again later. It fits the socket's buffer, so nobody waits for it.
void turn_away(ServerStream& stream, const Error& busy) {
  const auto body = error_body(busy);
  const auto text =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
      "Retry-After: 1\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  stream.say_at_once(text);
  stream.close();
}

// Some are kept for the journal, and for starts and ends of workers. The kernel hands out the lowest
// number that is free, so a high one says that few are left.
bool takes_a_last_descriptor(const ServerStream& stream) {
  constexpr int kKept = 64;
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(stream.descriptor()) + kKept >= limit.rlim_cur;
}

// How often deadlines are looked at: a fraction of the shortest.
std::chrono::milliseconds sweep_period(const ServerOptions& options) {
  const auto proof = options.proof_ms.count() > 0 ? options.proof_ms : options.idle_ms;
  const auto shortest =
      std::min({options.idle_ms, proof, options.body_ms, options.write_ms, options.stall_ms});
  return std::clamp(shortest / 8, std::chrono::milliseconds{5}, std::chrono::milliseconds{1'000});
}

}  // namespace

class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(asio::io_context& io, std::unique_ptr<Listener> listener, Router router,
       ServerOptions options)
      : context_(std::make_shared<ServerContext>(io, std::move(router), std::move(options))),
        listener_(std::move(listener)),
        pause_(io),
        sweep_(io),
        patience_(io) {
    context_->make_room = [this] { return close_unread(); };
  }

  Result<void> start();
  void stop(std::chrono::milliseconds patience_ms, std::function<void()> stopped);
  void abandon();
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  static asio::awaitable<void> accept_all(std::shared_ptr<Impl> self);
  void welcome(std::shared_ptr<ServerStream> stream);
  // Tunnels of nodes aren't.
  [[nodiscard]] std::size_t counted() const {
    return connections_.size() - context_->tunnels.total();
  }
  [[nodiscard]] const Error* too_many(const Peer& peer) const;
  [[nodiscard]] bool close_stillest();
  bool close_unread();
  void part(const std::shared_ptr<Connection>& connection);
  void schedule_sweep();
  void sweep();
  void stop_listening();
  [[nodiscard]] std::vector<std::shared_ptr<Connection>> all() const;
  void report_stopped();

  std::shared_ptr<ServerContext> context_;
  std::unique_ptr<Listener> listener_;
  asio::steady_timer pause_;
  asio::steady_timer sweep_;
  asio::steady_timer patience_;
  std::map<Connection*, std::shared_ptr<Connection>> connections_;
  std::map<std::string, std::size_t> per_user_;
  std::function<void()> stopped_;
  bool sweeping_ = false;
};

Result<void> HttpServer::Impl::start() {
  if (auto listening = listener_->open(); !listening) return listening;
  asio::co_spawn(context_->io, accept_all(shared_from_this()), asio::detached);
  return {};
}

asio::awaitable<void> HttpServer::Impl::accept_all(std::shared_ptr<Impl> self) {
  while (self->listener_->is_open()) {
    error_code error;
    auto stream = co_await self->listener_->accept(error);
    if (stream) {
      self->welcome(std::move(stream));
      continue;
    }
    if (!self->listener_->is_open()) break;
    spdlog::warn("cannot accept a connection: {}", error.message());
    self->pause_.expires_after(kAcceptPause);
    co_await self->pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  }
}

void HttpServer::Impl::welcome(std::shared_ptr<ServerStream> stream) {
  const Error* error = too_many(stream->peer());
  if (error == nullptr && takes_a_last_descriptor(*stream)) error = &too_many_of_all();
  const bool full = counted() >= context_->options.connections_max;
  if (error == nullptr && full && !close_stillest()) error = &too_many_of_all();
  if (error != nullptr) return turn_away(*stream, *error);
  auto connection = std::make_shared<Connection>(std::move(stream), context_);
  connections_[connection.get()] = connection;
  ++per_user_[connection->peer().origin];
  schedule_sweep();
  asio::co_spawn(context_->io, Connection::run(connection),
                 [self = shared_from_this(), connection](const std::exception_ptr& defect) {
                   if (defect) spdlog::error("a connection failed");
                   self->part(connection);
                 });
}

const Error* HttpServer::Impl::too_many(const Peer& peer) const {
  const auto& options = context_->options;
  if (options.when_full == WhenFull::replace || context_->keeps(peer)) return nullptr;
  const auto mine = per_user_.find(peer.origin);
  if (mine != per_user_.end() && mine->second >= options.connections_per_user_max)
    return &too_many_of_one();
  return counted() >= options.connections_max ? &too_many_of_all() : nullptr;
}

// False: there is none that may be closed.
bool HttpServer::Impl::close_stillest() {
  const auto stillest = std::ranges::min_element(
      connections_, {}, [](const auto& each) { return each.second->stillness(); });
  if (stillest == connections_.end()) return false;
  const auto connection = stillest->second;
  if (connection->worth() == Connection::Worth::kept) return false;
  if (context_->options.when_full == WhenFull::replace && connection->is_being_answered())
    return false;
  connection->close();
  return true;
}

// True if there was an answer that its client leaves unread.
bool HttpServer::Impl::close_unread() {
  std::shared_ptr<Connection> oldest;
  for (const auto& [key, connection] : connections_) {
    if (!connection->is_unread()) continue;
    if (!oldest || connection->stillness() < oldest->stillness()) oldest = connection;
  }
  if (oldest) oldest->close();
  return oldest != nullptr;
}

void HttpServer::Impl::part(const std::shared_ptr<Connection>& connection) {
  connection->close();
  const auto mine = per_user_.find(connection->peer().origin);
  if (--mine->second == 0) per_user_.erase(mine);
  connections_.erase(connection.get());
  report_stopped();
}

void HttpServer::Impl::schedule_sweep() {
  if (sweeping_ || connections_.empty()) return;
  sweeping_ = true;
  sweep_.expires_after(sweep_period(context_->options));
  sweep_.async_wait([self = shared_from_this()](error_code error) {
    self->sweeping_ = false;
    if (!error) self->sweep();
  });
}

void HttpServer::Impl::sweep() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& connection : all()) connection->check_deadline(now);
  schedule_sweep();
}

void HttpServer::Impl::stop(std::chrono::milliseconds patience_ms, std::function<void()> stopped) {
  stop_listening();
  context_->stopping = true;
  stopped_ = std::move(stopped);
  for (const auto& connection : all()) connection->wind_down();
  patience_.expires_after(patience_ms);
  patience_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->abandon();
  });
  asio::post(context_->io, [self = shared_from_this()] { self->report_stopped(); });
}

void HttpServer::Impl::abandon() {
  stop_listening();
  context_->stopping = true;
  for (const auto& connection : all()) connection->close();
}

void HttpServer::Impl::stop_listening() {
  listener_->close();
  pause_.cancel();
}

void HttpServer::Impl::report_stopped() {
  if (!connections_.empty()) return;
  sweep_.cancel();
  if (!context_->stopping) return;
  patience_.cancel();
  if (const auto stopped = std::exchange(stopped_, {})) stopped();
}

std::vector<std::shared_ptr<Connection>> HttpServer::Impl::all() const {
  std::vector<std::shared_ptr<Connection>> list;
  list.reserve(connections_.size());
  for (const auto& [key, connection] : connections_) list.push_back(connection);
  return list;
}

HttpServer::HttpServer(asio::io_context& io, std::unique_ptr<Listener> listener, Router router,
                       ServerOptions options)
    : impl_(
          std::make_shared<Impl>(io, std::move(listener), std::move(router), std::move(options))) {}

HttpServer::~HttpServer() { impl_->abandon(); }

Result<void> HttpServer::start() { return impl_->start(); }

void HttpServer::stop(std::chrono::milliseconds patience_ms, std::function<void()> stopped) {
  impl_->stop(patience_ms, std::move(stopped));
}

std::size_t HttpServer::connections() const { return impl_->connections(); }

}  // namespace paceline
