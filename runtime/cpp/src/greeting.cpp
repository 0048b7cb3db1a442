#include "greeting.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "bytes.hpp"

namespace paceline::runtime {
namespace {

constexpr std::string_view kMagic = "PLRT";
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kNonce = 32, kProof = 32, kHello = 56;

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), begin, begin + text.size());
}

void append(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

Greeting Greeting::dials(const Identity& own, Descriptor fd, int peer, LinkKind kind) {
  Greeting greeting(own, std::move(fd), true);
  greeting.peer_ = peer;
  greeting.kind_ = kind;
  auto& hello = greeting.hello_;
  append(hello, kMagic);
  put(hello, kVersion);
  put(hello, kind);
  put(hello, std::uint16_t{0});
  put(hello, static_cast<std::uint32_t>(own.rank));
  put(hello, static_cast<std::uint32_t>(own.size));
  put(hello, own.generation);
  hello.resize(kHello);
  greeting.foreign_ = !fill_with_chance(std::span(hello).last(kNonce));
  greeting.out_ = hello;
  greeting.wanted_ = kNonce + kProof;
  return greeting;
}

Greeting Greeting::answers(const Identity& own, Descriptor fd) {
  Greeting greeting(own, std::move(fd), false);
  greeting.wanted_ = kHello;
  return greeting;
}

pollfd Greeting::awaits() const {
  return {fd_.get(), static_cast<short>(said_ < out_.size() ? POLLOUT : POLLIN), 0};
}

Greeting::State Greeting::fail() {
  fd_.reset();
  return State::failed;
}

Greeting::State Greeting::step() {
  for (;;) {
    if (!say()) return passes(errno) ? State::goes_on : fail();
    if (wanted_ == 0) return State::done;
    const auto have = in_.size();
    in_.resize(wanted_);
    const auto count = ::recv(fd_.get(), in_.data() + have, wanted_ - have, 0);
    in_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return fail();
    if (count < 0) return passes(errno) ? State::goes_on : fail();
    if (in_.size() < wanted_) continue;
    if (next() == State::failed) return fail();
    in_.clear();
  }
}

// All that is to be said. False: `errno` says why not.
bool Greeting::say() {
  while (said_ < out_.size()) {
    const auto count = ::send(fd_.get(), out_.data() + said_, out_.size() - said_, MSG_NOSIGNAL);
    if (count <= 0) return false;
    said_ += static_cast<std::size_t>(count);
  }
  return true;
}

Greeting::State Greeting::next() {
  if (dialled_) return take_answer();
  return hello_.empty() ? take_hello() : take_last();
}

Greeting::State Greeting::take_answer() {
  nonce_.assign(in_.begin(), in_.begin() + kNonce);
  Digest told;
  std::copy_n(in_.begin() + kNonce, kProof, told.begin());
  foreign_ = !equal(told, prove("answers"));
  if (foreign_) return State::failed;
  append(out_, prove("dials"));
  wanted_ = 0;
  return State::goes_on;
}

Greeting::State Greeting::take_hello() {
  hello_ = in_;
  std::span<const std::byte> rest(hello_);
  const bool is_ours =
      std::equal(kMagic.begin(), kMagic.end(), rest.begin(),
                 [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
  rest = rest.subspan(kMagic.size());
  const auto version = runtime::take<std::uint8_t>(rest);
  const auto kind = runtime::take<std::uint8_t>(rest);
  runtime::take<std::uint16_t>(rest);
  const auto rank = runtime::take<std::uint32_t>(rest);
  const auto size = runtime::take<std::uint32_t>(rest);
  const auto generation = runtime::take<std::uint64_t>(rest);
  const bool fits = size == static_cast<std::uint32_t>(own_->size) && rank < size &&
                    rank > static_cast<std::uint32_t>(own_->rank) && generation == own_->generation;
  if (!is_ours || version != kVersion || kind > 1 || !fits) return State::failed;
  peer_ = static_cast<int>(rank);
  kind_ = static_cast<LinkKind>(kind);
  nonce_.resize(kNonce);
  if (!fill_with_chance(nonce_)) return State::failed;
  append(out_, nonce_);
  append(out_, prove("answers"));
  wanted_ = kProof;
  return State::goes_on;
}

Greeting::State Greeting::take_last() {
  Digest told;
  std::copy_n(in_.begin(), kProof, told.begin());
  if (!equal(told, prove("dials"))) return State::failed;
  wanted_ = 0;
  return State::goes_on;
}

Digest Greeting::prove(std::string_view role) const {
  std::vector<std::byte> bytes;
  append(bytes, role);
  append(bytes, hello_);
  append(bytes, nonce_);
  return proof(own_->secret, bytes);
}

}  // namespace paceline::runtime
