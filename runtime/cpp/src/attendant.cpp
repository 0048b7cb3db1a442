#include "attendant.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "worker_socket.hpp"

namespace paceline::runtime {
namespace {

constexpr std::chrono::milliseconds kAskEvery{1'000}, kAnsweredWithin{15'000};
constexpr int kStartAgain = 75;  // EX_TEMPFAIL of sysexits.h

// What the handler reads and writes.
std::atomic<pid_t> owner = 0;  // the process with an attendant; 0: none has one
std::atomic<bool> trains = false;
std::atomic<int> noticed = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void note_notice(int number) {
  if (owner != ::getpid()) {  // what a fork is told is none of the training's business
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  if (!trains) ::_exit(kStartAgain);
  noticed = number;
}

}  // namespace

Outcome<std::unique_ptr<Attendant>> Attendant::open(std::string socket) {
  if (owner == ::getpid())
    return fail(PACELINE_BAD_ARGUMENT, -1, "This process has an attendant already.");
  std::unique_ptr<Attendant> attendant(new Attendant(std::move(socket)));
  if (!attendant->ended_)
    return fail(PACELINE_SYSTEM, -1,
                std::string("No descriptor is left: ") + std::strerror(errno) + ".");
  return attendant;
}

Attendant::Attendant(std::string socket)
    : socket_(std::move(socket)), ended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  owner = ::getpid();
  trains = false;
  noticed = 0;
  struct sigaction action {};
  action.sa_handler = note_notice;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, &before_);
}

Attendant::~Attendant() {
  ::sigaction(SIGTERM, &before_, nullptr);
  owner = 0;
  if (ended_) ::eventfd_write(ended_.get(), 1);
  if (asks_.joinable()) asks_.join();
}

void Attendant::begin() { trains = true; }

void Attendant::ask() {
  if (socket_.empty() || asks_.joinable()) return;
  sigset_t all, before;  // signals are for the program's own threads
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  asks_ = std::thread([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Attendant::hear() {
  if (!socket_.empty() && !generations_) generations_ = std::make_unique<Generations>(socket_);
}

int Attendant::notice() const { return noticed; }

void Attendant::work() {
  pollfd waits{ended_.get(), POLLIN, 0};
  while (!should_stop_ && ::poll(&waits, 1, static_cast<int>(kAskEvery.count())) == 0) {
    // No answer: a training does not depend on who watches it.
    const auto reason = reason_to_stop(socket_, kAnsweredWithin, ended_.get());
    if (reason == "notice")
      noticed = SIGTERM;
    else if (reason && !reason->empty())
      should_stop_ = true;
  }
}

}  // namespace paceline::runtime
