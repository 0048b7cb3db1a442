#include "http/unix_dialer.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "http/unix_socket.hpp"

namespace paceline {
namespace {

class SocketEnd final : public ClientStream {
 public:
  explicit SocketEnd(UniqueFd fd) : fd_(std::move(fd)) {}

  Try receive(void* bytes, std::size_t size) override {
    return outcome(::recv(fd_.get(), bytes, size, MSG_DONTWAIT), POLLIN);
  }
  Try send(const void* bytes, std::size_t size) override {
    return outcome(::send(fd_.get(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL), POLLOUT);
  }
  [[nodiscard]] int descriptor() const override { return fd_.get(); }

 private:
  static Try outcome(ssize_t count, short events) {
    if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
    if (errno == EAGAIN || errno == EINTR) return {.awaits = events};
    return {.reason = errno};
  }

  UniqueFd fd_;
};

}  // namespace

Result<std::unique_ptr<ClientStream>> UnixDialer::dial() const {
  auto fd = connect_unix(path_, Connecting::blocking);
  if (fd) return std::make_unique<SocketEnd>(std::move(*fd));
  if (fd.error().code == ErrorCode::forbidden) {
    return fail(ErrorCode::forbidden,
                fmt::format("The server at {} belongs to another user.", path_),
                "Ask its administrator.");
  }
  return fail(ErrorCode::unavailable, fmt::format("No Paceline server answers at {}.", path_),
              "Start one with 'paceline up'.", Retry::may_help);
}

}  // namespace paceline
