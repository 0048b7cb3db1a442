#include "files/chores.hpp"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace paceline {

struct Chores::State {
  static void work(const std::shared_ptr<State>& self);

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  bool stopped = false;
};

void Chores::State::work(const std::shared_ptr<State>& self) {
  std::unique_lock lock(self->mutex);
  while (true) {
    self->changed.wait(lock, [&] { return self->stopping || !self->queue.empty(); });
    if (self->stopping) break;
    const std::function<void()> chore = std::move(self->queue.front());
    self->queue.pop_front();
    lock.unlock();
    chore();
    lock.lock();
  }
  self->stopped = true;
  self->changed.notify_all();
}

Chores::Chores(std::chrono::milliseconds patience)
    : state_(std::make_shared<State>()), patience_(patience) {
  begin();
}

void Chores::begin() {
  if (begun_) return;
  // Signals are for the thread that waits for them.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([state = state_] { State::work(state); }).detach();
    begun_ = true;
  } catch (const std::system_error&) {
    begun_ = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Chores::~Chores() {
  if (!begun_) return;
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, patience_, [&] { return state_->stopped; });
}

void Chores::add(std::function<void()> chore) {
  begin();
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back(std::move(chore));
  state_->changed.notify_all();
}

}  // namespace paceline
