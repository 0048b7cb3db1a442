#include "conversation.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace paceline::runtime {
namespace {

constexpr std::size_t kMessageMax = std::size_t{1} << 19;  // endpoints of 1,024 ranks

bool can_go_on() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::uint32_t length_in(std::string_view bytes) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

}  // namespace

void Conversation::say(std::string_view text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  out_.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

Conversation::State Conversation::step() {
  if (!fd_) {
    if (const auto state = greeting_.step(); state != State::done) return state;
    fd_ = greeting_.take();
  }
  if (const auto state = send(); state != State::done) return state;
  return receive();
}

pollfd Conversation::awaits() const {
  if (!fd_) return greeting_.awaits();
  return {fd_.get(), static_cast<short>(said_ < out_.size() ? POLLOUT : POLLIN), 0};
}

Conversation::State Conversation::send() {
  while (said_ < out_.size()) {
    const auto count = ::send(fd_.get(), out_.data() + said_, out_.size() - said_, MSG_NOSIGNAL);
    if (count <= 0) return can_go_on() ? State::goes_on : State::failed;
    said_ += static_cast<std::size_t>(count);
  }
  return State::done;
}

Conversation::State Conversation::receive() {
  while (const auto wanted = missing()) {
    if (wanted > kMessageMax) return State::failed;
    const auto have = in_.size();
    in_.resize(have + wanted);
    const auto count = ::recv(fd_.get(), in_.data() + have, wanted, 0);
    in_.resize(have + static_cast<std::size_t>(count > 0 ? count : 0));
    if (count == 0) return State::failed;
    if (count < 0) return can_go_on() ? State::goes_on : State::failed;
  }
  return State::done;
}

// Bytes of the message, as far as its length is known.
std::size_t Conversation::missing() const {
  if (in_.size() < kLength) return kLength - in_.size();
  return kLength + length_in(in_) - in_.size();
}

}  // namespace paceline::runtime
