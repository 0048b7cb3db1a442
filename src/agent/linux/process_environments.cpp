#include "agent/linux/process_environments.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>

#include "agent/linux/process.hpp"

namespace paceline::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kShortestPause = 1s;
constexpr auto kLongestPause = 10min;
constexpr auto kNoticed = 50ms;  // less is no waiting
constexpr MemoryPatience kForKnown{50ms, 100ms};
constexpr int kShare = 8;  // of the time since it was waited last, twice

MemoryPatience patience_after(std::chrono::steady_clock::duration calm) {
  const auto each = std::chrono::floor<std::chrono::milliseconds>(calm) / kShare;
  const auto first = std::clamp<std::chrono::milliseconds>(each, 25ms, 250ms);
  return {first, 2 * first};
}

}  // namespace

Result<void> ProcessEnvironments::read(const std::vector<pid_t>& pids, const Take& take) {
  const auto now = Steady::now();
  const bool again = now - asked_again_ >= kShortestPause;
  std::erase_if(silent_, [](const auto& each) {
    return !is_alive({each.first, each.second.start_time});
  });
  std::vector<pid_t> unknown, due;
  for (const pid_t pid : pids) {
    const auto known = silent_.find(pid);
    if (known == silent_.end())
      unknown.push_back(pid);
    else if (again && now >= known->second.ask_at)
      due.push_back(pid);
    else
      take(pid, {{}, ETIMEDOUT});
  }
  if (auto asked = ask(unknown, patience_after(now - waited_), take); !asked) return asked;
  if (!due.empty()) asked_again_ = now;
  return ask(due, kForKnown, take);
}

Result<void> ProcessEnvironments::ask(const std::vector<pid_t>& pids, MemoryPatience patience,
                                      const Take& take) {
  std::vector<std::string> paths;
  paths.reserve(pids.size());
  for (const pid_t pid : pids) paths.push_back("/proc/" + std::to_string(pid) + "/environ");
  auto asked = Steady::now();
  const auto hear = [&](std::size_t i, const MemoryFile& file) {
    if (const auto now = Steady::now(); now - asked >= kNoticed) waited_ = now;
    if (file.error == ECANCELED) return take(pids[i], {{}, ETIMEDOUT});
    note(pids[i], file.error == ETIMEDOUT);
    take(pids[i], file);
    asked = Steady::now();
  };
  return read_memory_files(paths, hear, patience);
}

void ProcessEnvironments::note(pid_t pid, bool silent) {
  if (!silent) {
    silent_.erase(pid);
    return;
  }
  const auto [known, first] = silent_.try_emplace(pid);
  Silence& silence = known->second;
  silence.start_time = identify(pid).start_time;
  silence.pause =
      first ? kShortestPause : std::min<Steady::duration>(2 * silence.pause, kLongestPause);
  const auto now = Steady::now();
  silence.ask_at = now + silence.pause;
  if (first && now - warned_ >= kShortestPause) {
    warned_ = now;
    spdlog::warn(
        "Process {} doesn't show its environment: where it may be a worker's, it counts as one "
        "while it runs.",
        pid);
  }
}

}  // namespace paceline::agent
