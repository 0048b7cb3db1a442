#include "generations.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <stdexcept>
#include <utility>

namespace paceline::runtime {
namespace {

// The agent holds a question for 10 s.
constexpr std::chrono::milliseconds kNewsWithin{15'000}, kTakenWithin{1'000};
constexpr std::chrono::milliseconds kAfterNone{1'000}, kAfterNothingNew{100};

}  // namespace

Generations::Generations(std::string socket)
    : socket_(std::move(socket)), ended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!ended_) throw std::runtime_error("no descriptor is left");
  sigset_t all, before;  // signals are for the program's own threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { hear(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Generations::~Generations() {
  ::eventfd_write(ended_.get(), 1);
  thread_.join();
}

void Generations::say(const std::string& what, std::uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    said_[what] = generation;
  }
  say_of_gang(socket_, what, generation, kTakenWithin);
}

std::optional<Next> Generations::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

std::optional<Next> Generations::wait_for(std::uint64_t generation,
                                          std::chrono::milliseconds limit) const {
  std::unique_lock lock(mutex_);
  if (!heard_.wait_for(lock, limit, [&] { return knows_of(generation); })) return std::nullopt;
  return next_;
}

bool Generations::knows_of(std::uint64_t generation) const {
  return next_ && (next_->generation >= generation || !next_->environment);
}

void Generations::hear() {
  std::uint64_t version = 0;
  std::chrono::milliseconds rest{0};
  while (pause(rest)) {
    const auto news = gang_news(socket_, version, kNewsWithin, ended_.get());
    rest = kAfterNone;
    if (!news) continue;
    rest = news->version == version ? kAfterNothingNew : std::chrono::milliseconds{0};
    version = news->version;
    take(*news);
    say_again(*news);
  }
}

void Generations::take(const GangNews& news) {
  const std::lock_guard lock(mutex_);
  if (news.next) next_ = news.next;
  if (calling_off_ != nullptr) calling_off_->look();
  heard_.notify_all();
}

void Generations::say_again(const GangNews& news) {
  std::map<std::string, std::uint64_t> said;
  {
    const std::lock_guard lock(mutex_);
    said = said_;
  }
  for (const auto& [what, generation] : said)
    if ((what == "ready" ? news.ready : news.stands) != generation)
      say_of_gang(socket_, what, generation, kTakenWithin);
}

bool Generations::pause(std::chrono::milliseconds time) const {
  pollfd waits{ended_.get(), POLLIN, 0};
  return ::poll(&waits, 1, static_cast<int>(time.count())) == 0;
}

Generations::CallingOff::CallingOff(Generations& generations, std::uint64_t generation,
                                    std::function<void()> act)
    : generations_(generations), generation_(generation), act_(std::move(act)) {
  const std::lock_guard lock(generations_.mutex_);
  generations_.calling_off_ = this;
  look();
}

Generations::CallingOff::~CallingOff() {
  const std::lock_guard lock(generations_.mutex_);
  generations_.calling_off_ = nullptr;
}

bool Generations::CallingOff::happened() const {
  const std::lock_guard lock(generations_.mutex_);
  return happened_;
}

// REQUIRES: the mutex is held.
void Generations::CallingOff::look() {
  if (happened_ || !generations_.knows_of(generation_ + 1)) return;
  happened_ = true;
  act_();
}

}  // namespace paceline::runtime
