#include "slurm/commands/slurm_commands.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <thread>

#include "files/fd.hpp"

namespace paceline {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kLookEvery = std::chrono::milliseconds{5};
constexpr std::size_t kToldMax = 300;

tl::unexpected<Error> not_started(const SlurmCall& call, int error) {
  if (error == ENOENT)
    return fail(ErrorCode::not_found,
                fmt::format("There is no '{}' on this machine.", call.words.front()),
                "Run the server where Slurm's commands are: on a login node of the cluster.");
  return fail(ErrorCode::unavailable,
              fmt::format("'{}' can't be started: {}.", call.words.front(), std::strerror(error)),
              {}, Retry::may_help);
}

struct Pipe {
  UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe(const SlurmCall& call) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return not_started(call, errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The writer gets an error and no signal where the reader is gone: send().
Result<Pipe> make_channel(const SlurmCall& call) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return not_started(call, errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// In a group of its own, so that it ends with all that it started.
int spawn(const SlurmCall& call, const std::array<int, 3>& descriptors, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)
    ::posix_spawn_file_actions_adddup2(&actions, descriptors.at(static_cast<std::size_t>(i)), i);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  auto words = call.words, environment = call.environment;
  for (char** each = ::environ; *each != nullptr; ++each) environment.emplace_back(*each);
  const int error = ::posix_spawnp(&pid, call.words.front().c_str(), &actions, &attributes,
                                   pointers(words).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// A child under way, with what it said so far.
class Child {
 public:
  Child(const SlurmCall& call, pid_t pid, std::array<UniqueFd, 3> ends)
      : call_(call), pid_(pid), ends_(std::move(ends)), until_(Steady::now() + call.patience) {
    for (const auto& end : ends_) ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  Result<SlurmAnswer> finish() {
    while (ends_[1] || ends_[2]) {
      if (Steady::now() >= until_ || said_[0].size() + said_[1].size() > call_.bytes_max)
        return gave_up();
      exchange();
    }
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (Steady::now() >= until_) return gave_up();
      std::this_thread::sleep_for(kLookEvery);
    }
    pid_ = 0;
    return SlurmAnswer{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                       std::move(said_[0]), std::move(said_[1])};
  }

 private:
  tl::unexpected<Error> gave_up() {
    return fail(ErrorCode::unavailable,
                fmt::format("Slurm's '{}' did not answer within {} s.", call_.words.front(),
                            std::chrono::ceil<std::chrono::seconds>(call_.patience).count()),
                "Its controller may be away: 'scontrol ping' tells.", Retry::may_help);
  }

  void exchange() {
    std::array<pollfd, 3> polled{};
    for (std::size_t i = 0; i < 3; ++i)
      polled.at(i) = {ends_.at(i) ? ends_.at(i).get() : -1,
                      static_cast<short>(i == 0 ? POLLOUT : POLLIN), 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Steady::now()).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(left, 0))) <= 0)
      return;
    if (polled[0].revents != 0) feed();
    for (std::size_t i = 1; i < 3; ++i)
      if (polled.at(i).revents != 0) hear(i);
  }

  void feed() {
    const auto n =
        ::send(ends_[0].get(), call_.input.data() + fed_, call_.input.size() - fed_, MSG_NOSIGNAL);
    if (n > 0) fed_ += static_cast<std::size_t>(n);
    if (fed_ == call_.input.size() || (n < 0 && errno != EAGAIN && errno != EINTR))
      ends_[0].reset();
  }

  void hear(std::size_t end) {
    std::array<char, 16384> piece{};
    const auto n = ::read(ends_.at(end).get(), piece.data(), piece.size());
    if (n > 0) said_.at(end - 1).append(piece.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) ends_.at(end).reset();
  }

  const SlurmCall& call_;
  pid_t pid_;
  std::array<UniqueFd, 3> ends_;
  Steady::time_point until_;
  std::size_t fed_ = 0;
  std::array<std::string, 2> said_;
};

// What Slurm complained of last, on one line and without the command's name.
std::string complaint(const SlurmAnswer& finished) {
  std::string text = finished.errors;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1).substr(0, kToldMax);
  for (const std::string_view prefix :
       {"sbatch: ", "squeue: ", "scancel: ", "error: ", "allocation failure: "})
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.empty() ? fmt::format("exit code {}", finished.exit_code) : text;
}

// Slurm's controller can't be heard: nothing is known of what it wants.
bool is_away(const std::string& complaint) {
  for (const std::string_view sign :
       {"Unable to contact", "Connection refused", "Socket timed out", "timed out",
        "backup controller", "Zero Bytes", "Communication connection"})
    if (complaint.find(sign) != std::string::npos) return true;
  return false;
}

tl::unexpected<Error> refused(const SlurmAnswer& finished) {
  const auto said = complaint(finished);
  if (is_away(said))
    return fail(ErrorCode::unavailable, fmt::format("Slurm can't be asked now: {}.", said),
                "'scontrol ping' tells whether its controller is there.", Retry::may_help);
  return fail(
      ErrorCode::conflict, fmt::format("Slurm refuses such a pilot: {}.", said),
      "'sinfo' shows the partitions, 'sacctmgr show associations user=$USER' the accounts.");
}

}  // namespace

Result<SlurmAnswer> run_slurm(const SlurmCall& call) {
  auto in = make_channel(call), out = make_pipe(call), err = make_pipe(call);
  for (const auto* each : {&in, &out, &err})
    if (!*each) return fail(each->error());
  pid_t pid = 0;
  const int error =
      spawn(call, {in->read_end.get(), out->write_end.get(), err->write_end.get()}, pid);
  if (error != 0) return not_started(call, error);
  in->read_end.reset();
  out->write_end.reset();
  err->write_end.reset();
  Child child(call, pid,
              {std::move(in->write_end), std::move(out->read_end), std::move(err->read_end)});
  return child.finish();
}

Result<std::vector<Pilot>> SlurmCommands::list(std::string_view server) {
  SlurmCall call{.words = list_arguments(), .environment = {"SLURM_TIME_FORMAT=%s"}};
  call.words.insert(call.words.begin(), "squeue");
  const auto listed = run_slurm(call);
  if (!listed) return fail(listed.error());
  if (listed->exit_code != 0)
    return fail(ErrorCode::unavailable,
                fmt::format("Slurm can't be asked now: {}.", complaint(*listed)),
                "'scontrol ping' tells whether its controller is there.", Retry::may_help);
  return read_pilots(listed->output, server);
}

Result<std::uint64_t> SlurmCommands::ask(const std::string& name, const std::string& script) {
  const auto asked =
      run_slurm({.words = {"sbatch", "--parsable", "--job-name=" + name}, .input = script});
  if (!asked) return fail(asked.error());
  if (asked->exit_code != 0) return refused(*asked);
  std::uint64_t job = 0;
  const auto& text = asked->output;
  if (std::from_chars(text.data(), text.data() + text.size(), job).ec != std::errc{})
    return fail(ErrorCode::unavailable, "sbatch told no job's number.", {}, Retry::may_help);
  return job;
}

Result<void> SlurmCommands::give_back(std::uint64_t job) {
  const auto ended = run_slurm({.words = {"scancel", std::to_string(job)}});
  if (!ended) return fail(ended.error());
  if (ended->exit_code == 0 || !is_away(complaint(*ended))) return {};
  return refused(*ended);
}

Result<void> SlurmCommands::try_out(const std::string& script) {
  const auto tried = run_slurm({.words = {"sbatch", "--test-only"}, .input = script});
  if (!tried) return fail(tried.error());
  if (tried->exit_code == 0) return {};
  return refused(*tried);
}

Result<bool> SlurmCommands::prove(const PilotSettings& settings, const PilotCall& call) {
  SlurmCall srun{.words = {"srun", "--quiet", "--immediate=10", "--nodes=1", "--ntasks=1",
                           "--time=1", "--job-name=paceline-proof", "--chdir=/"},
                 .patience = std::chrono::seconds{40}};
  if (!settings.partition.empty()) srun.words.push_back("--partition=" + settings.partition);
  if (!settings.account.empty()) srun.words.push_back("--account=" + settings.account);
  for (const auto* word : {"bash", "-c"}) srun.words.emplace_back(word);
  srun.words.push_back(proof(call));
  const auto looked = run_slurm(srun);
  if (!looked && looked.error().code == ErrorCode::unavailable) return false;
  if (!looked) return fail(looked.error());
  if (looked->exit_code == kNoProgram)
    return fail(ErrorCode::conflict,
                fmt::format("'{}' is no program on Slurm's nodes.", call.program),
                "Start the server from a file system that the nodes share, by its path there.");
  if (looked->exit_code == kNoServer)
    return fail(
        ErrorCode::conflict, fmt::format("Slurm's nodes can't reach {}.", call.address),
        "Start the server with --listen and an address of this machine that the nodes reach.");
  return looked->exit_code == 0;
}

}  // namespace paceline
