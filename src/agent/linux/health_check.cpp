#include "agent/linux/health_check.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/utf8.hpp"

namespace paceline::agent {
namespace {

constexpr auto kRestMin = std::chrono::milliseconds{50};
constexpr std::size_t kToldMax = 200;  // bytes of its first line

// Its first line, fit for everybody's eyes; empty: there is none.
std::string first_line(const std::string& output) {
  const std::size_t begin = output.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  std::string line = output.substr(begin, output.find('\n', begin) - begin);
  if (line.size() > kToldMax) line.resize(kToldMax);
  line.resize(line.size() - utf8_unfinished(line));
  line = printable(to_utf8(line));
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<std::string> problem_of(int status, const std::string& output) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  const std::string line = first_line(output);
  const std::string how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("Its health check failed ({}){}{}", how, line.empty() ? "." : ": ", line);
}

}  // namespace

HealthCheck::HealthCheck(boost::asio::io_context& io, std::string command, HealthCheckTimes times,
                         std::function<void()> changed)
    : command_(std::move(command)),
      times_(times),
      changed_(std::move(changed)),
      run_(io),
      timer_(io),
      problem_("Its health check has not ended yet.") {}

void HealthCheck::start() { run(); }

void HealthCheck::run() {
  begun_ = std::chrono::steady_clock::now();
  const int error = run_.start(
      {"/bin/sh", "-c", command_}, {.patience = times_.patience, .late = [this] { give_up(); }},
      [this](const CommandRun::Ended& ended) {
        if (ended.status < 0)
          return end("It can't be told how its health check ended: SIGCHLD is ignored here.");
        end(ended.late ? problem_ : problem_of(ended.status, ended.output));
      });
  if (error != 0) end(fmt::format("Its health check can't be started: {}.", std::strerror(error)));
}

// None is run beside it until it has ended.
void HealthCheck::give_up() {
  tell(fmt::format("Its health check did not end within {} s.",
                   std::chrono::ceil<std::chrono::seconds>(times_.patience).count()));
}

void HealthCheck::tell(std::optional<std::string> problem) {
  if (std::exchange(problem_, std::move(problem)) != problem_) changed_();
}

void HealthCheck::end(std::optional<std::string> problem) {
  const auto next = begun_ + times_.every;
  timer_.at(std::max(next, std::chrono::steady_clock::now() + kRestMin), [this] { run(); });
  tell(std::move(problem));
}

}  // namespace paceline::agent
