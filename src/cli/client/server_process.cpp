#include "cli/client/server_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http/unix_socket.hpp"

namespace paceline {

// The kernel knows which process listens. Nobody waits for its own end.
ServerProcess::ServerProcess(const std::string& socket) {
  const auto connected = connect_unix(socket, Connecting::blocking);
  if (!connected) return;
  ucred server{};
  socklen_t size = sizeof server;
  if (::getsockopt(connected->get(), SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) return;
  if (server.pid > 0 && server.pid != ::getpid())
    process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, server.pid, 0)));
}

bool ServerProcess::wait(std::chrono::milliseconds most) const {
  if (!process_) return true;
  pollfd ended{process_.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(most.count())) > 0;
}

}  // namespace paceline
