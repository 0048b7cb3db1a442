#include "conformance/real_stage.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <utility>

#include "agent/linux/cgroups.hpp"
#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/shm.hpp"
#include "base/check.hpp"

namespace paceline::conformance {
namespace {

constexpr auto kWallPatience = std::chrono::seconds{60};
constexpr auto kTurn = std::chrono::milliseconds{2};
constexpr int kFaster = 20;  // than the true time goes that of the agents
constexpr int kOpensMax = 50;
constexpr std::string_view kWorkersProgram = " sh\n";

std::size_t open_descriptors() { return agent::list_directory("/proc/self/fd").size(); }

}  // namespace

std::vector<std::string> processes() {
  std::vector<std::string> all;
  for (const std::string& name : agent::list_directory("/proc")) {
    if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
    const pid_t pid = std::stoi(name);
    const auto stat = agent::read_stat(pid);
    if (pid == 1 || pid == ::getpid() || !stat || stat->state == 'Z' || stat->state == 'X')
      continue;
    all.push_back(name + " " + agent::read_file("/proc/" + name + "/comm").value_or(""));
  }
  return all;
}

// ---- the machine ----

RealMachine::RealMachine(std::string directory) : directory_(std::move(directory)) {
  check(::mkfifo(gate().c_str(), 0600) == 0, "the directory is a fresh one");
  gate_.reset(::open(gate().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  come_back([] { return true; });
  const agent::Marks marks(directory_);
  groups_ = groups();
  memory_ = std::string(agent::kSharedMemory) + "/" + marks.group();
}

bool RealMachine::open() {
  agent::HostOptions options;
  options.directory = directory_;
  options.cpu_slots = 4;
  options.worker_processes = 1000;
  auto opened = agent::LinuxHost::open(io_, clock_, std::move(options));
  if (!opened) return false;
  host_ = std::move(*opened);
  return true;
}

void RealMachine::leave() { host_.reset(); }

void RealMachine::come_back(const std::function<bool()>& ready) {
  turn_until(ready, kWallPatience);
  for (int i = 0; i < kOpensMax && !open(); ++i) continue;
  check(host_ != nullptr, "a host begins where nothing is wrong with its machine");
}

bool RealMachine::is_at_the_gate() const { return ::access(bell().c_str(), F_OK) == 0; }

// The call that fails may be this one, and no host made it.
void RealMachine::release() const {
  while (::write(gate_.get(), "\n", 1) != 1) continue;
}

bool RealMachine::turn_until(const std::function<bool()>& condition,
                             std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    io_.restart();
    io_.run_one_for(kTurn);
    io_.poll();
  }
  return true;
}

std::string RealMachine::leftover() {
  char line = 0;
  while (::read(gate_.get(), &line, 1) > 0) continue;
  ::unlink(bell().c_str());
  std::string left;
  const auto tidy = [&] {
    left = remains();
    return left.empty();
  };
  turn_until(tidy, kWallPatience);
  return left;
}

std::string RealMachine::remains() {
  std::string text;
  const auto look = [&](const std::string& directory) {
    for (const auto& file : agent::list_directory(directory))
      if (agent::parse_claim_name(file.substr(0, file.rfind('.'))) ||
          agent::parse_claim_name(file) || agent::parse_claim_name(file + ".0"))
        text += directory + "/" + file + " ";
  };
  for (const char* name : {"/agent/workers", "/agent/setups", "/agent/terminals", "/run"})
    look(directory_ + name);
  for (const auto& group : groups_) look(group);
  look(memory_);
  const auto left = processes();
  if (left.size() > 1) text += fmt::format("{} processes beside the nursery ", left.size() - 1);
  // The nursery's and the looker's are counted as soon as it is there.
  const auto now = open_descriptors();
  if (descriptors_ == 0 && text.empty()) descriptors_ = now;
  if (descriptors_ > 0 && now > descriptors_)
    text += fmt::format("{} descriptors more than before", now - descriptors_);
  return text;
}

std::vector<std::string> RealMachine::groups() const {
  const auto plan =
      agent::Cgroups::discover(agent::Marks(directory_).group()).plan("x", {1, 1 << 30, {}, 1000});
  std::vector<std::string> all;
  for (const auto& path : {plan.unified, plan.freezer, plan.cpu, plan.memory, plan.pids})
    if (!path.empty()) all.push_back(path.substr(0, path.rfind('/')));
  return all;
}

// ---- one worker on it ----

RealStage::RealStage(RealMachine& machine, WorkerLaunch launch)
    : Stage(launch.key), machine_(machine), launch_(std::move(launch)) {
  come();
}

// The host must not tell an agent that is gone.
RealStage::~RealStage() {
  machine_.host().on_observation([](const agent::Observation&) {});
}

Time RealStage::now() const {
  const auto passed = std::chrono::steady_clock::now() - began_;
  return time_from_us(1'700'000'000'000'000) +
         std::chrono::duration_cast<Duration>(kFaster * passed);
}

void RealStage::come() {
  agent_ = std::make_unique<agent::Agent>(machine_.host());
  server.connect(*agent_);
  step();
}

void RealStage::step() {
  const bool before = server.over();
  server.step(now());
  if (before || !server.over()) return;
  for (const std::string& process : processes())
    if (process.ends_with(kWorkersProgram)) lived_on_ += process;
}

void RealStage::start() {
  server.say(StartWorker{launch_});
  step();
}

void RealStage::restart(Return when) {
  agent_.reset();
  machine_.leave();
  const bool ends = when == Return::after_the_end;
  if (ends) machine_.release();
  machine_.come_back([ends] { return !ends || processes().empty(); });
  come();
  if (!ends) machine_.release();
}

bool RealStage::pass(const std::function<bool()>& condition) {
  return machine_.turn_until(
      [&] {
        step();
        return condition();
      },
      kWallPatience);
}

}  // namespace paceline::conformance
