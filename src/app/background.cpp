#include "app/background.hpp"

#include <sched.h>

#include <csignal>
#include <utility>

namespace paceline {
namespace {

// This thread runs only when a core has nothing else to do. Where that is not allowed it runs as everybody
// does.
void be_idle() {
  const sched_param none{};
  (void)::sched_setscheduler(0, SCHED_IDLE, &none);
}

// Signals are for the main thread.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

Background::Background(std::function<bool()> work)
    : work_(std::move(work)), thread_([this] { run(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Background::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (woken_) return;
    woken_ = true;
  }
  changed_.notify_one();
}

void Background::run() {
  block_signals();
  be_idle();
  while (wait()) {
    while (!ending() && work_()) {
    }
  }
}

bool Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return woken_ || ending_; });
  woken_ = false;
  return !ending_;
}

bool Background::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

}  // namespace paceline
