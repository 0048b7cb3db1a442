#include "agent/linux/worker_stacks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/linux/files.hpp"
#include "agent/linux/process.hpp"
#include "base/utf8.hpp"

namespace paceline::agent {
namespace {

constexpr const char* kTool = "eu-stack";
constexpr int kNoProgram = 127;  // of setpriv, where there is none to run

std::string_view words_of(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "waiting for a device, not to be interrupted";
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return "?";
  }
}

std::string line_of(const std::string& path) {
  std::string text = read_file(path, 256).value_or("");
  text.resize(std::min(text.size(), text.find('\n')));
  return printable(to_utf8(text));
}

std::string name_of(pid_t pid) { return line_of(fmt::format("/proc/{}/comm", pid)); }

std::optional<struct stat> owner_of(pid_t pid) {
  struct stat info {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0) return std::nullopt;
  return info;
}

std::vector<std::string> tool_for(pid_t pid, const struct stat& owner) {
  std::vector<std::string> command{kTool, "-p", std::to_string(pid)};
  if (::geteuid() == owner.st_uid) return command;
  const std::vector<std::string> as{"setpriv", fmt::format("--reuid={}", owner.st_uid),
                                    fmt::format("--regid={}", owner.st_gid), "--clear-groups",
                                    "--"};
  command.insert(command.begin(), as.begin(), as.end());
  return command;
}

// The job's user may look into it, so it has nothing of the server's.
std::vector<std::string> tool_environment() {
  return {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
}

std::string missing_tool() {
  return fmt::format("{} is not installed here; it comes with Debian's package elfutils.\n", kTool);
}

// Fit for a terminal, line by line.
std::string lines_of(std::string_view told) {
  std::string text;
  while (!told.empty()) {
    const auto end = std::min(told.find('\n'), told.size());
    text += printable(to_utf8(told.substr(0, end))) + '\n';
    told.remove_prefix(std::min(end + 1, told.size()));
  }
  return text;
}

std::string text_of(const CommandRun::Ended& ended) {
  if (ended.status >= 0 && WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == kNoProgram)
    return missing_tool();
  auto text = lines_of(ended.output);
  if (ended.late)
    text += fmt::format("{} was ended: it took longer than {} s.\n", kTool, kToolPatience.count());
  return text.empty() ? fmt::format("{} told nothing.\n", kTool) : text;
}

std::string part(std::string_view heading, const std::map<pid_t, std::string>& texts, pid_t pid) {
  const auto found = texts.find(pid);
  if (found == texts.end() || found->second.empty()) return "";
  return fmt::format("{}\n{}", heading, found->second);
}

}  // namespace

Result<ScriptStacks> parse_script_stacks(const std::string& body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto pid = json.is_object() ? json.find("pid") : json.end();
  const auto text = json.is_object() ? json.find("text") : json.end();
  if (!json.is_object() || pid == json.end() || !pid->is_number_unsigned() ||
      pid->get<std::uint64_t>() > INT32_MAX || text == json.end() || !text->is_string())
    return fail(Error{ErrorCode::invalid,
                      R"(POST /v1/stacks takes {"pid": 4711, "text": "…"}.)",
                      {},
                      Retry::useless});
  return ScriptStacks{pid->get<pid_t>(), text->get<std::string>()};
}

std::string threads_text(pid_t pid) {
  const auto tasks = fmt::format("/proc/{}/task", pid);
  const auto names = list_directory(tasks);
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kStackThreadsMax); ++i) {
    const auto task = tasks + "/" + names[i];
    const auto stat = parse_stat(read_file(task + "/stat", 4096).value_or(""));
    if (!stat) continue;
    const auto where = line_of(task + "/wchan");
    text += fmt::format("thread {} ({}): {}{}\n", names[i], line_of(task + "/comm"),
                        words_of(stat->state), where.empty() || where == "0" ? "" : " in " + where);
  }
  if (names.size() > kStackThreadsMax)
    text += fmt::format("and {} more threads\n", names.size() - kStackThreadsMax);
  return text;
}

void WorkerStacks::collect(Worker worker, Told told) {
  waiting_.push_back(std::move(told));
  worker_ = std::move(worker);
  worker_.pids.resize(std::min(worker_.pids.size(), kStackProcessesMax));
  next_ = 0;
  begun_ = std::chrono::steady_clock::now();
  looked_ = false;
  heard_ = worker_.scripts == 0;
  threads_.clear();
  native_.clear();
  scripts_.clear();
  for (const pid_t pid : worker_.pids) threads_[pid] = threads_text(pid);
  if (!heard_)
    patience_.after(kScriptPatience, [this] {
      heard_ = true;
      end_if_done();
    });
  look_into_next();
}

void WorkerStacks::take(const ScriptStacks& told) {
  if (!collects() || heard_) return;
  scripts_[told.pid] = lines_of(told.text);
  heard_ = scripts_.size() >= worker_.scripts;
  end_if_done();
}

// One process after the other: each is stopped while it is looked into.
void WorkerStacks::look_into_next() {
  for (; next_ < worker_.pids.size(); ++next_) {
    const pid_t pid = worker_.pids[next_];
    const auto owner = owner_of(pid);
    if (!owner) continue;
    if (owner->st_uid != worker_.uid) {
      native_[pid] = "It is not the job's user's, and not looked into.\n";
      continue;
    }
    if (std::chrono::steady_clock::now() - begun_ > kLookingMax) {
      native_[pid] = "It was not looked into: those before it took long.\n";
      continue;
    }
    const int error = run_.start(
        tool_for(pid, *owner),
        {.patience = kToolPatience, .output_max = kStackTextMax, .environment = tool_environment()},
        [this, pid](const CommandRun::Ended& ended) {
          native_[pid] = text_of(ended);
          ++next_;
          look_into_next();
        });
    if (error == 0) return;
    native_[pid] = error == ENOENT
                       ? missing_tool()
                       : fmt::format("{} can't be started: {}.\n", kTool, std::strerror(error));
  }
  looked_ = true;
  end_if_done();
}

void WorkerStacks::end_if_done() {
  if (!looked_ || !heard_) return;
  patience_.cancel();
  const auto told = text();
  for (const auto& each : std::exchange(waiting_, {})) each(told);
}

std::string WorkerStacks::text() const {
  std::string text;
  for (const pid_t pid : worker_.pids) {
    text += fmt::format("process {} ({})\n", pid, name_of(pid));
    text += part("-- threads", threads_, pid) + part("-- Python", scripts_, pid) +
            part("-- native", native_, pid);
  }
  if (worker_.scripts > 0 && scripts_.size() < worker_.scripts)
    text += "Its script was asked for its Python stacks, and did not answer in time.\n";
  if (worker_.scripts == 0)
    text += "No Python stacks: none of its processes waits to be asked, as paceline.init() does.\n";
  if (text.size() > kStackTextMax) {
    text.resize(kStackTextMax);
    text.resize(text.size() - utf8_unfinished(text));
    text += "\nand more\n";
  }
  return text;
}

}  // namespace paceline::agent
