#include "messages/sender.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace paceline {
namespace {

constexpr Duration kGuard = std::chrono::seconds{kSendSeconds + 15};
constexpr Duration kLookAgain = std::chrono::minutes{1};  // at the latest
constexpr std::uint32_t kDoublingsMax = 20;

// Signals are for the main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

Duration pause_before(std::uint32_t repetition, Duration first) {
  const auto doublings = std::min(std::max(repetition, 1U) - 1, kDoublingsMax);
  return std::min(first * (std::int64_t{1} << doublings), std::max(first, kRetryMost));
}

Result<std::unique_ptr<MessageSender>> MessageSender::start(Options options) {
  auto outbox = MessageOutbox::open(options.outbox);
  if (!outbox) return fail(outbox.error());
  return std::unique_ptr<MessageSender>(new MessageSender(std::move(options), std::move(*outbox)));
}

MessageSender::MessageSender(Options options, std::unique_ptr<MessageOutbox> outbox)
    : options_(std::move(options)),
      outbox_(std::move(outbox)),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      rights_(options_.find_rights) {
  thread_ = std::thread([this] { run(); });
}

MessageSender::~MessageSender() {
  ending_ = true;
  wake();
  thread_.join();
}

void MessageSender::wake() { (void)::eventfd_write(bell_.get(), 1); }

void MessageSender::run() {
  block_signals();
  while (!ending_) {
    const Time now = options_.now();
    end_over(now);
    begin_due(now);
    wait(now);
  }
  sending_.clear();
}

void MessageSender::begin_due(Time now) {
  if (sending_.size() >= kSendsMax) return;
  for (const auto& message : outbox_->due(now, kSendsMax, 1)) {
    if (may_begin(message)) begin(message, now);
  }
}

bool MessageSender::may_begin(const Outgoing& message) const {
  std::size_t of_sender = 0;
  for (const auto& each : sending_) {
    if (each.message.to == message.to) return false;
    if (each.message.sender == message.sender) ++of_sender;
  }
  return sending_.size() < kSendsMax && (!message.sender || of_sender < kUserSendsMax);
}

// A relay's login is the server's: mail goes out with its rights, a user's web hook with the user's.
void MessageSender::begin(const Outgoing& message, Time now) {
  std::optional<Rights> rights;
  const bool mail = is_mail(message.to);
  if (mail && !options_.wires.relay)
    return note(message, {false, false, "there is no mail relay any more"}, now);
  if (!mail && message.sender && options_.as_owner) {
    auto found = rights_.answer(*message.sender);
    if (!found) return note(message, {false, false, "the name service doesn't answer"}, now);
    if (!*found) return note(message, {false, false, "its owner's account is not found"}, now);
    rights = std::move(**found);
  }
  auto run = CurlRun::start(options_.curl, curl_config(message.to, message.id, options_.wires),
                            message.payload, rights);
  if (!run) return note(message, {false, false, run.error().message}, now);
  sending_.push_back({message, std::move(*run), now + kGuard});
}

void MessageSender::wait(Time now) {
  std::vector<pollfd> fds{{bell_.get(), POLLIN, 0}};
  Time until = now + kLookAgain;
  for (const auto& each : sending_) {
    fds.push_back({each.run.fd(), POLLIN, 0});
    until = std::min(until, each.until);
  }
  // What is due and may not begin yet begins when another one is over.
  if (const auto due = outbox_->next_due(); due && *due > now) until = std::min(until, *due);
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  (void)::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(ms, 1)));
  eventfd_t rung = 0;
  (void)::eventfd_read(bell_.get(), &rung);
}

// curl writes what there is to say at its very end; the pipe is readable then, or closed.
void MessageSender::end_over(Time now) {
  for (auto each = sending_.begin(); each != sending_.end();) {
    pollfd fd{each->run.fd(), POLLIN, 0};
    const bool over = ::poll(&fd, 1, 0) > 0;
    if (!over && now < each->until) {
      ++each;
      continue;
    }
    if (!over) each->run.kill();
    note(each->message, each->run.finish(is_mail(each->message.to)), now);
    each = sending_.erase(each);
  }
}

// Its address is its owner's: the log says whose job it is about, and no more.
void MessageSender::note(const Outgoing& message, const SinkAnswer& answer, Time now) {
  Result<void> kept;
  const bool late = now - message.made_at >= options_.give_up_after;
  if (answer.taken) {
    kept = outbox_->sent(message);
  } else if (answer.useless || late) {
    spdlog::warn("A message about job {} ({}) is given up: {}.", message.job.value,
                 to_string(message.kind), answer.problem);
    kept = outbox_->given_up(message, answer.problem);
  } else {
    if (message.tries == 0)
      spdlog::info("A message about job {} ({}) waits: {}; it is tried again.", message.job.value,
                   to_string(message.kind), answer.problem);
    kept = outbox_->put_off(message, now + pause_before(message.tries + 1, options_.retry_first),
                            answer.problem);
  }
  if (!kept) spdlog::error("{} {}", kept.error().message, kept.error().hint);
}

}  // namespace paceline
