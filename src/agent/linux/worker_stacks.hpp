// What the threads of a worker's processes are in at this moment, as text for people: how the kernel
// sees each, the Python stacks that the script itself tells (the package `paceline` does, by the worker
// socket), and the native ones by `eu-stack` of Debian's package elfutils, where it is installed. That
// runs as the job's user: what a job has mapped is nothing that root should read as symbols.
//
//   WorkerStacks stacks(io);
//   stacks.collect({.pids = …, .uid = order.uid, .scripts = news.ask_for_stacks()}, [](std::string text) { … });
//   stacks.take({pid, text});                 // what a script told
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/linux/command_run.hpp"
#include "base/result.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {

inline constexpr std::size_t kStackProcessesMax = 32;
inline constexpr std::size_t kStackThreadsMax = 256;  // of a process
inline constexpr std::size_t kStackTextMax = 256 << 10;
inline constexpr auto kScriptPatience = std::chrono::seconds{2};  // with a script that was asked
inline constexpr auto kToolPatience = std::chrono::seconds{5};    // with eu-stack, of one process
inline constexpr auto kLookingMax = std::chrono::seconds{10};     // none is begun with after that

struct ScriptStacks {
  pid_t pid = 0;
  std::string text;
};
// The body of POST /v1/stacks: {"pid": 4711, "text": "MainThread …"}. Errors: invalid.
Result<ScriptStacks> parse_script_stacks(const std::string& body);

// The threads of a process as the kernel has them: a line each.
std::string threads_text(pid_t pid);

class WorkerStacks {
 public:
  struct Worker {
    std::vector<pid_t> pids;  // parents before children
    std::uint32_t uid = 0;
    std::size_t scripts = 0;  // so many were asked, and may tell
  };
  using Told = std::function<void(std::string text)>;

  explicit WorkerStacks(boost::asio::io_context& io) : run_(io), patience_(io) {}

  // Tells it later. REQUIRES: not collects().
  void collect(Worker worker, Told told);
  [[nodiscard]] bool collects() const { return !waiting_.empty(); }
  // Tells the same as to whoever asked before. REQUIRES: collects().
  void join(Told told) { waiting_.push_back(std::move(told)); }
  void take(const ScriptStacks& told);

 private:
  void look_into_next();
  void end_if_done();
  [[nodiscard]] std::string text() const;

  CommandRun run_;
  Timer patience_;
  std::vector<Told> waiting_;
  Worker worker_;
  std::size_t next_ = 0;  // of the pids, to look into
  bool looked_ = false, heard_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::map<pid_t, std::string> threads_, native_, scripts_;
};

}  // namespace paceline::agent
