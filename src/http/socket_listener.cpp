#include "http/socket_listener.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "http/tcp_socket.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

using Failure = ServerStream::Failure;

Failure failure_of(int reason) { return {reason, boost::system::system_category()}; }

// As they were when it connected. None where the kernel doesn't tell.
std::vector<std::uint32_t> groups_of(int socket) {
  static_assert(sizeof(gid_t) == sizeof(std::uint32_t));
  std::vector<std::uint32_t> groups;
  socklen_t size = 0;
  while (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) {
    if (errno != ERANGE) return {};
    groups.resize(size / sizeof(gid_t));
  }
  groups.resize(size / sizeof(gid_t));
  return groups;
}

Peer peer_of(int socket, int family) {
  if (family != AF_UNIX) return {.origin = tcp_peer_of(socket).host};
  ucred account{};
  socklen_t size = sizeof account;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &account, &size) != 0) return {};
  return unix_peer({account.uid, account.gid, account.pid, groups_of(socket)});
}

class SocketStream final : public ServerStream {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  SocketStream(Socket socket, Peer peer) : socket_(std::move(socket)), peer_(std::move(peer)) {}

  [[nodiscard]] const Peer& peer() const override { return peer_; }

  Awaitable<std::size_t> read_some(asio::mutable_buffer into, Failure& failure) override {
    co_return co_await socket_.async_read_some(into,
                                               asio::redirect_error(asio::use_awaitable, failure));
  }
  Awaitable<std::size_t> write_some(Pieces pieces, Failure& failure) override {
    co_return co_await socket_.async_write_some(pieces,
                                                asio::redirect_error(asio::use_awaitable, failure));
  }
  void say_at_once(std::string_view text) override {
    (void)::send(socket_.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void finish_sending() override {
    Failure ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void close() override {
    Failure ignored;
    socket_.close(ignored);
  }

  [[nodiscard]] Presence presence() override {
    char next = 0;
    const auto count = ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0) return Presence::speaks;
    if (count < 0) {
      return errno == EAGAIN || errno == EINTR ? Presence::silent : Presence::gone;
    }
    return is_hung_up() ? Presence::gone : Presence::is_done;
  }
  void when_not_silent(std::function<void()> due) override {
    socket_.async_wait(Socket::wait_read, [due = std::move(due)](const Failure& failure) {
      if (!failure) due();
    });
  }
  [[nodiscard]] int descriptor() const override {
    return const_cast<Socket&>(socket_).native_handle();
  }

 private:
  // Both directions are closed.
  bool is_hung_up() {
    pollfd state{socket_.native_handle(), 0, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
  }

  Socket socket_;
  Peer peer_;
};

class SocketListener final : public Listener {
 public:
  SocketListener(asio::io_context& io, UniqueFd listening)
      : io_(io), listening_(io), given_(std::move(listening)) {}
  SocketListener(asio::io_context& io, std::filesystem::path path, SocketAccess access)
      : io_(io), listening_(io), path_(std::move(path)), access_(access) {}

  Result<void> open() override {
    if (!path_.empty()) {
      auto fd = listen_unix(path_, access_);
      if (!fd) return fail(std::move(fd.error()));
      given_ = std::move(*fd);
    }
    Failure failure;
    listening_.assign(given_.get(), failure);
    if (!failure) {
      static_cast<void>(given_.release());
      return {};
    }
    return fail(ErrorCode::unavailable,
                fmt::format("A socket can't be watched: {}.", failure.message()), {},
                Retry::may_help);
  }
  [[nodiscard]] bool is_open() const override { return listening_.is_open(); }

  ServerStream::Awaitable<std::shared_ptr<ServerStream>> accept(Failure& failure) override {
    for (;;) {
      co_await listening_.async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, failure));
      if (failure) co_return nullptr;
      UniqueFd fd(
          ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) {
        auto stream = serve_socket(io_, std::move(fd));
        if (stream) co_return std::move(*stream);
        failure = asio::error::no_memory;
        co_return nullptr;
      }
      if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) continue;
      failure = failure_of(errno);
      co_return nullptr;
    }
  }

  void close() override {
    if (!listening_.is_open()) return;
    Failure ignored;
    listening_.close(ignored);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  asio::io_context& io_;
  asio::posix::stream_descriptor listening_;
  UniqueFd given_;
  std::filesystem::path path_;
  SocketAccess access_ = SocketAccess::owner;
};

}  // namespace

std::unique_ptr<Listener> listen_at_path(asio::io_context& io, std::filesystem::path path,
                                         SocketAccess access) {
  return std::make_unique<SocketListener>(io, std::move(path), access);
}

std::unique_ptr<Listener> listen_on(asio::io_context& io, UniqueFd listening) {
  return std::make_unique<SocketListener>(io, std::move(listening));
}

Result<std::shared_ptr<ServerStream>> serve_socket(asio::io_context& io, UniqueFd connected) {
  const int family = family_of(connected.get());
  auto peer = peer_of(connected.get(), family);
  Failure failure;
  SocketStream::Socket socket(io);
  socket.assign(asio::generic::stream_protocol(family, 0), connected.get(), failure);
  if (failure) {
    return fail(ErrorCode::unavailable,
                fmt::format("A connection can't be served: {}.", failure.message()), {},
                Retry::may_help);
  }
  static_cast<void>(connected.release());
  return std::make_shared<SocketStream>(std::move(socket), std::move(peer));
}

}  // namespace paceline
