// Where supervisors come from. One small process per agent, the nursery, is started once (`paceline
// supervise`) and forks a supervisor for every worker: a fork of something small costs a fraction
// of what starting the whole program does, and the pages of all supervisors are shared. The nursery
// leads a session of its own, so that no terminal's Ctrl-C reaches it, and ends with its agent;
// supervisors don't.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "agent/linux/supervisor.hpp"
#include "base/result.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

// The nursery as its agent sees it. Used by one thread.
class Nursery {
 public:
  // `program` is the argv that runs supervise_main(), e.g. {"/proc/self/exe", "supervise"}.
  // `open_files` is the limit of open files that workers are to get: an agent has raised its own.
  Nursery(std::vector<std::string> program, std::uint64_t open_files)
      : program_(std::move(program)), open_files_(open_files) {}
  ~Nursery();
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Starts the process. Errors: storage, forbidden (the program can't be run).
  Result<void> open();
  // Has a supervisor made, as soon as the nursery takes the request; never waits for it. A nursery
  // that died is started again. What was under way when it died is lost: its claim's lock is free
  // then. Where no supervisor can be made, the claim gets the ending `refused`, and its lock is
  // free.
  void raise(Inheritance inheritance);
  // The same for a looker (looker.hpp) that serves `socket`; where none can be made, that is closed.
  void raise_looker(UniqueFd socket);
  // For a supervisor that doesn't begin: lets a nursery go on that somebody stopped, and replaces one
  // that was let go on a while ago without avail.
  void wake();
  // Hands over what could not be handed over at once; call now and then while busy().
  void flush();
  [[nodiscard]] bool busy() const { return !queue_.empty(); }

 private:
  void close();
  [[nodiscard]] int send_first();
  void refuse_first(const Error& error);

  std::vector<std::string> program_;
  std::uint64_t open_files_;
  UniqueFd socket_;
  pid_t pid_ = 0;
  std::deque<std::vector<UniqueFd>> queue_;
  std::optional<std::chrono::steady_clock::time_point> woken_;
};

// Raises this process's limit of open files as far as it may, and answers what the limit was.
std::uint64_t raise_open_files();

// The nursery's own side: serves requests from `socket` until it ends. Returns an exit status.
int run_nursery(int socket);

}  // namespace paceline::agent
