#include "flow.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace paceline::runtime {
namespace {

constexpr std::size_t kPiece = std::size_t{256} * 1024;  // at a time, so that both directions go on

// One direction of a flow, its head first.
class Out {
 public:
  Out(Links& links, const Head& head, Sending sending)
      : links_(links), head_(head), sending_(sending) {}

  Outcome<void> open() {
    return links_.data(sending_.to).map([this](int fd) { fd_ = fd; });
  }
  [[nodiscard]] bool done() const { return begun_ == sizeof head_ && sending_.source.done(); }
  // Did something go?
  Outcome<bool> go() {
    const auto* const head = reinterpret_cast<const std::byte*>(&head_);
    const auto body = sending_.source.next().first(std::min(sending_.source.next().size(), kPiece));
    can_ = begun_ < sizeof head_ || !body.empty();
    if (!can_) return false;
    std::array<iovec, 2> parts{iovec{const_cast<std::byte*>(head + begun_), sizeof head_ - begun_},
                               iovec{const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto count = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && passes(errno)) return false;
    if (count < 0) return fail(links_.ended(sending_.to));
    const auto of_head = std::min(static_cast<std::size_t>(count), sizeof head_ - begun_);
    begun_ += of_head;
    const auto of_body = static_cast<std::size_t>(count) - of_head;
    if (of_body > 0) sending_.source.sent(of_body);
    return count > 0;
  }
  [[nodiscard]] bool waits() const { return can_; }
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] int peer() const { return sending_.to; }

 private:
  Links& links_;
  const Head& head_;
  Sending sending_;
  int fd_ = -1;
  std::size_t begun_ = 0;
  bool can_ = true;
};

class In {
 public:
  In(Links& links, const Head& head, Receiving receiving)
      : links_(links), head_(head), receiving_(receiving) {}

  Outcome<void> open() {
    return links_.data(receiving_.from).map([this](int fd) { fd_ = fd; });
  }
  [[nodiscard]] bool done() const { return begun_ == sizeof head_ && receiving_.sink.done(); }
  Outcome<bool> go() {
    auto* const head = reinterpret_cast<std::byte*>(&theirs_);
    const auto body = receiving_.sink.done() ? std::span<std::byte>() : receiving_.sink.next();
    const bool headed = begun_ == sizeof head_;
    const auto room = headed ? body.first(std::min(body.size(), kPiece))
                             : std::span(head + begun_, sizeof head_ - begun_);
    // The head comes with what follows it.
    std::array<iovec, 2> parts{iovec{room.data(), room.size()}, iovec{body.data(), body.size()}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = headed ? 1 : 2;
    const auto count = ::recvmsg(fd_, &message, MSG_DONTWAIT);
    if (count < 0 && passes(errno)) return false;
    if (count <= 0) return fail(links_.ended(receiving_.from));
    auto of_body = static_cast<std::size_t>(count);
    if (!headed) {
      const auto of_head = std::min(of_body, sizeof head_ - begun_);
      begun_ += of_head;
      of_body -= of_head;
      if (begun_ == sizeof head_ && !(theirs_ == head_))
        return fail(differing(links_.rank(), head_, receiving_.from, theirs_));
    }
    if (of_body > 0) receiving_.sink.took(of_body);
    return true;
  }
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] int peer() const { return receiving_.from; }

 private:
  Links& links_;
  const Head& head_;
  Receiving receiving_;
  int fd_ = -1;
  std::size_t begun_ = 0;
  Head theirs_;
};

}  // namespace

Outcome<void> flow(Links& links, const Head& head, std::optional<Sending> sending,
                   std::optional<Receiving> receiving) {
  std::optional<Out> out;
  std::optional<In> in;
  if (sending) out.emplace(links, head, *sending);
  if (receiving) in.emplace(links, head, *receiving);
  if (out)
    if (auto opened = out->open(); !opened) return opened;
  if (in)
    if (auto opened = in->open(); !opened) return opened;
  auto patience = links.patience();
  for (;;) {
    const bool sends = out && !out->done(), receives = in && !in->done();
    if (!sends && !receives) return {};
    bool moved = false;
    if (sends) {
      const auto went = out->go();
      if (!went) return fail(went.error());
      moved |= *went;
    }
    if (receives) {
      const auto came = in->go();
      if (!came) return fail(came.error());
      moved |= *came;
    }
    if (moved) {
      patience.refresh();
      continue;
    }
    std::array<pollfd, 2> waits{};
    std::size_t count = 0;
    if (receives) waits[count++] = {in->descriptor(), POLLIN, 0};
    if (sends && out->waits()) waits[count++] = {out->descriptor(), POLLOUT, 0};
    const int peer = receives ? in->peer() : out->peer();
    if (auto waited = links.wait(std::span(waits).first(count), patience, peer, head); !waited)
      return waited;
  }
}

}  // namespace paceline::runtime
