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

Background::Background(std::function<bool()> work, Yields yields)
    : work_(std::move(work)), yields_(yields) {
  ::sem_init(&awake_, 0, 0);
  thread_ = std::thread([this] { run(); });
}

Background::~Background() {
  ending_ = true;
  wake();
  thread_.join();
  ::sem_destroy(&awake_);
}

void Background::wake() {
  if (!woken_.exchange(true)) ::sem_post(&awake_);
}

void Background::run() {
  block_signals();
  if (yields_ == Yields::to_all) be_idle();
  while (!ending_) {
    wait();
    while (!ending_ && work_()) {
    }
  }
}

// Whoever wakes from here on is heard by the next wait.
void Background::wait() {
  while (::sem_wait(&awake_) != 0) {
  }
  woken_ = false;
}

}  // namespace paceline
