#include "agent/linux/chores.hpp"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace paceline::agent {
namespace {
constexpr auto kPatience = std::chrono::seconds{1};
}  // namespace

struct Chores::State {
  explicit State(boost::asio::io_context& io_context) : io(io_context) {}
  static void work(const std::shared_ptr<State>& self);

  boost::asio::io_context& io;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<Rest()>> queue;
  bool stopping = false;
  bool stopped = false;
};

void Chores::State::work(const std::shared_ptr<State>& self) {
  std::unique_lock lock(self->mutex);
  while (true) {
    self->changed.wait(lock, [&] { return self->stopping || !self->queue.empty(); });
    if (self->stopping) break;
    const std::function<Rest()> chore = std::move(self->queue.front());
    self->queue.pop_front();
    lock.unlock();
    Rest rest = chore();
    lock.lock();
    // Under the lock: once the chores have ended, nothing of the agent may be touched.
    if (rest && !self->stopping) boost::asio::post(self->io, std::move(rest));
  }
  self->stopped = true;
  self->changed.notify_all();
}

Chores::Chores(boost::asio::io_context& io) : state_(std::make_shared<State>(io)) {
  // Signals are for the thread that waits for them.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([state = state_] { State::work(state); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Chores::~Chores() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kPatience, [&] { return state_->stopped; });
}

void Chores::add(std::function<Rest()> chore) {
  const std::lock_guard lock(state_->mutex);
  state_->queue.push_back(std::move(chore));
  state_->changed.notify_all();
}

}  // namespace paceline::agent
