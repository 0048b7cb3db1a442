#include "link/splice.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>

namespace paceline {
namespace {

constexpr std::size_t kHeldMax = 64 << 10;
constexpr int kLastWordsMs = 5'000;

using Try = ClientStream::Try;

Try outcome(ssize_t count, short events) {
  if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
  if (errno == EAGAIN || errno == EINTR) return {.awaits = events};
  return {.reason = errno};
}

// What goes one way.
struct Way {
  std::function<Try(void*, std::size_t)> receive;
  std::function<Try(const void*, std::size_t)> send;
  std::string held = {};
  bool ended = false;    // nothing more comes
  bool refused = false;  // nothing more is taken
  short awaits_in = POLLIN, awaits_out = 0;

  void step() {
    while (!ended && !refused && held.size() < kHeldMax) {
      std::array<char, 16 << 10> bytes;
      const auto tried = receive(bytes.data(), bytes.size());
      held.append(bytes.data(), tried.bytes);
      awaits_in = tried.awaits;
      if (tried.bytes > 0) continue;
      ended = tried.awaits == 0;
      break;
    }
    awaits_out = 0;
    while (!held.empty() && !refused) {
      const auto tried = send(held.data(), held.size());
      held.erase(0, tried.bytes);
      if (tried.bytes > 0) continue;
      awaits_out = tried.awaits;
      refused = tried.awaits == 0;
      if (tried.awaits != 0) break;
    }
  }
  [[nodiscard]] bool over() const { return refused || (ended && held.empty()); }
  [[nodiscard]] bool reads() const { return !ended && held.size() < kHeldMax; }
};

}  // namespace

void splice(ClientStream& server, int socket, int interrupted) {
  Way to_server{[&](void* bytes, std::size_t size) {
                  return outcome(::recv(socket, bytes, size, MSG_DONTWAIT), POLLIN);
                },
                [&](const void* bytes, std::size_t size) { return server.send(bytes, size); }};
  Way to_socket{[&](void* bytes, std::size_t size) { return server.receive(bytes, size); },
                [&](const void* bytes, std::size_t size) {
                  return outcome(::send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL), POLLOUT);
                }};
  for (;;) {
    to_server.step();
    to_socket.step();
    if (to_server.over() || to_socket.over()) return;
    const short of_server =
        static_cast<short>((to_socket.reads() ? to_socket.awaits_in : 0) | to_server.awaits_out);
    const short of_socket =
        static_cast<short>((to_server.reads() ? to_server.awaits_in : 0) | to_socket.awaits_out);
    std::array<pollfd, 3> waits{
        {{server.descriptor(), of_server, 0}, {socket, of_socket, 0}, {interrupted, POLLIN, 0}}};
    const bool last_words = to_server.ended || to_socket.ended;
    const int ready = ::poll(waits.data(), waits.size(), last_words ? kLastWordsMs : -1);
    if (ready == 0 || waits[2].revents != 0) return;
  }
}

}  // namespace paceline
