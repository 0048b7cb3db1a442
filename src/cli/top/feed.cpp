#include "cli/top/feed.hpp"

#include <sys/eventfd.h>

#include <algorithm>

#include "base/check.hpp"
#include "cli/top/source.hpp"

namespace paceline {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kLogEvery = std::chrono::milliseconds{500};
constexpr int kLooksPart = 5;  // one in so many seconds goes to looking at most

UniqueFd make_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  check(event.get() >= 0, "a descriptor to wake up by");
  return event;
}

void signal_event(const UniqueFd& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof one);
}

}  // namespace

Feed::Feed(const ServerAddress& server, Duration interval)
    : interval_(interval), stop_(make_event()), told_(make_event()) {
  ServerAddress own{server.dialer, [fd = stop_.get()] { return fd; }, server.token};
  thread_ = std::thread([this, own = std::move(own)] { run(own); });
}

Feed::~Feed() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  signal_event(stop_);
  changed_.notify_all();
  thread_.join();
}

void Feed::wish(BoardWish wish) {
  {
    const std::lock_guard lock(mutex_);
    const bool only_scrolled = wish.ended == wish_.ended && wish.stands == wish_.stands &&
                               wish.page == wish_.page && wish.log == wish_.log;
    wish_ = std::move(wish);
    if (only_scrolled) return;
    new_wish_ = true;
  }
  changed_.notify_all();
}

std::vector<BoardNews> Feed::take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(told_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Feed::tell(BoardNews news) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    news_.push_back(std::move(news));
  }
  signal_event(told_);
}

bool Feed::wait(std::unique_lock<std::mutex>& lock, Steady::time_point until) {
  changed_.wait_until(lock, until, [&] { return new_wish_ || over_; });
  return !over_;
}

void Feed::run(ServerAddress server) {
  Source source(std::move(server));
  Steady::time_point look_due = Steady::now(), log_due = look_due;
  std::unique_lock lock(mutex_);
  while (!over_) {
    const BoardWish wish = wish_;
    const bool anew = std::exchange(new_wish_, false);
    lock.unlock();
    const auto began = Steady::now();
    if (anew || began >= look_due) {
      if (!wish.stands) tell(source.look(wish));
      if (wish.stands && wish.page) tell({.page = source.read_page(*wish.page)});
      const auto ended = Steady::now();
      look_due = ended + std::max<Steady::duration>(interval_, (ended - began) * kLooksPart);
    }
    if (wish.log && (anew || Steady::now() >= log_due)) {
      tell({.log = source.read_log(*wish.log)});
      log_due = Steady::now() + kLogEvery;
    }
    lock.lock();
    wait(lock, wish.log ? std::min(look_due, log_due) : look_due);
  }
}

}  // namespace paceline
