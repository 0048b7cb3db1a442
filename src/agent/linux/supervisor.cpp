#include "agent/linux/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include "agent/linux/claim.hpp"
#include "agent/linux/control.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/footprint.hpp"
#include "agent/linux/launch.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/notice.hpp"
#include "agent/linux/shm.hpp"
#include "agent/linux/signals.hpp"
#include "agent/linux/terminal.hpp"
#include "agent/wants.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kConnectionsMax = 8;
constexpr std::size_t kOutputMax = 4096;
constexpr int kSetupPollMs = 20;
constexpr int kLongestPollMs = 5'000;  // so often it looks whether its claim is there
constexpr int kSweepMsMin = 2;
constexpr int kSweepMsMax = 200;
constexpr int kStopSweepsMax = 20;
// How much later than the server a supervisor ends a worker whose time is over: where no agent is
// there, and where one is there, but says nothing.
constexpr std::int64_t kLimitSlackUs = 1'000'000;
constexpr std::int64_t kHungServerUs = 60'000'000;
constexpr std::int64_t kLongestLeaseUs = std::int64_t{1} << 60;

struct Connection {
  UniqueFd fd;
  std::string input;
  bool commanded = false;  // it has said something that a supervisor understands
  std::string output;      // what the machine could not send yet
};

// Sums of such spans are spans still.
RunLimit bounded(RunLimit limit) {
  constexpr Duration kLongest{std::int64_t{1} << 60};
  limit.left = std::min(limit.left, kLongest);
  limit.grace = std::min(limit.grace, kLongest);
  return limit;
}

class Supervisor {
 public:
  Supervisor(Inheritance inheritance, WorkerOrder order)
      : claim_(std::move(inheritance.claim), order.key),
        listener_(std::move(inheritance.listener)),
        held_(std::move(inheritance.held)),
        order_(std::move(order)),
        group_(order_.cgroups),
        limit_(order_.limit) {
    if (limit_) limit_ = bounded(*limit_);
    if (order_.lease_us > 0) renew_lease(Duration{order_.lease_us});
  }

  int run();

 private:
  enum class Phase { waiting, setup, running, sweeping, over };

  void begin();
  void start_setup();
  void start_main();
  [[nodiscard]] bool open_terminal();
  void wait_for_setup();
  void forget_order();
  [[nodiscard]] bool start(std::vector<std::string> command);
  [[nodiscard]] int ipc() const;
  void launched();

  void turn();
  [[nodiscard]] int timeout_ms();
  void look_at_claim();
  void handle_signals();
  void accept_connection();
  [[nodiscard]] std::vector<Connection>::iterator least_wanted();
  void serve(Connection& connection);
  void obey(Connection& connection, const ControlCommand& command);
  static void tell(Connection& connection, std::string_view line);
  static void send_output(Connection& connection);
  void tell_all(std::string_view line);

  void give_notice(int signal);
  void give_last_notice();
  void freeze();
  void thaw();
  void freeze_tree();
  void take_limit(const RunLimit& limit);
  void count();
  void stop_counting();
  [[nodiscard]] std::optional<std::int64_t> due_us() const;
  void hold_limit();
  void renew_lease(Duration lease);
  [[nodiscard]] std::optional<std::int64_t> lease_left_us() const;
  void hold_lease();
  bool reap();
  Result<void> tell_gang(std::string_view outcome);
  void main_ended(int status);
  void setup_ended(int status);
  void end_as(WorkerEnding ending);
  void sweep();
  void finish();

  ClaimFile claim_;
  UniqueFd listener_;
  std::vector<UniqueFd> held_;
  WorkerOrder order_;
  WorkerGroup group_;
  ProcessId own_;  // a claim without it counts as never begun
  UniqueFd signals_;
  UniqueFd log_;
  std::optional<Terminal> terminal_;
  std::vector<Connection> connections_;
  Phase phase_ = Phase::waiting;
  std::optional<WorkerEnding> ending_;
  std::optional<FileId> shell_;
  std::optional<Launch> launching_;
  pid_t main_ = 0;
  pid_t setup_ = 0;
  int notice_ = 0;
  std::optional<RunLimit> limit_;  // as of the moment since which its time counts
  std::optional<std::int64_t> counts_since_;
  bool limit_told_ = false;  // by the server, which counts by the whole gang
  bool frozen_ = false;
  std::optional<std::int64_t> kill_at_;  // set once its time is over
  bool killing_ = false;
  Duration lease_{};                           // the last one; the order says whether there is any
  std::optional<std::int64_t> lease_ends_us_;  // by the clock that counts sleep, too
  bool lease_noticed_ = false;
  int sweep_ms_ = kSweepMsMin;
};

UniqueFd watch_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP})
    ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  ::sigaddset(&watched, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  return UniqueFd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::int64_t now_us() { return since_boot().count(); }

// What the machine lacks is not the job's fault. A conflict is with the job's own owner.
WorkerEnding failure(Cause otherwise, const Error& error) {
  Cause cause = otherwise;
  if (error.retry == Retry::may_help && error.code != ErrorCode::conflict) cause = Cause::refused;
  if (error.code == ErrorCode::not_found) cause = Cause::missing;
  return {cause, {}, 0, now_us(), error.message, error.code == ErrorCode::unavailable};
}

int Supervisor::run() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, supervisor_name(order_.key).c_str());
  signals_ = watch_signals();
  begin();
  while (phase_ != Phase::over) turn();
  return 0;
}

void Supervisor::begin() {
  const auto failed = [this](const Error& error) { end_as(failure(Cause::launch_failed, error)); };
  if (!signals_) return failed(system_error("The supervisor can't watch its worker", errno));
  own_ = identify(::getpid());
  if (own_.pid == 0) return failed(system_error("The supervisor can't look at itself", errno));
  if (!claim_.write(WorkerProcesses{own_, {}}))
    return failed(system_error("The worker's claim can't be written", errno));
  log_ = open_log(order_.log, O_WRONLY | O_APPEND);
  if (!log_) return failed(log_error("The log '" + order_.log + "' can't be opened", errno));
  if (const auto made = group_.create(); !made) return failed(made.error());
  if (order_.setup.empty()) return start_main();
  if (order_.runs_setup) start_setup();
}

bool Supervisor::start(std::vector<std::string> command) {
  const int terminal = terminal_ ? terminal_->slave() : -1;
  auto started =
      launch(order_, group_, LaunchedProgram{std::move(command), log_.get(), terminal, ipc()});
  if (terminal_) terminal_->close_slave();
  if (started)
    launching_ = std::move(*started);
  else
    end_as(failure(Cause::launch_failed, started.error()));
  return launching_.has_value();
}

// The namespace of the gang is among what it holds.
int Supervisor::ipc() const {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [](const UniqueFd& fd) { return is_namespace(fd.get()); });
  return found == held_.end() ? -1 : found->get();
}

void Supervisor::start_setup() {
  phase_ = Phase::setup;
  if (start({"/bin/sh", "-c", order_.setup})) setup_ = launching_->pid;
}

void Supervisor::start_main() {
  phase_ = Phase::running;
  if (!order_.terminal.empty() && !open_terminal()) return;
  if (order_.shell) shell_ = file_id(order_.command[0]);
  static_cast<void>(start(order_.command));
}

// The program on its way runs, has ended, or could not be started. What is being ended needs no
// outcome.
void Supervisor::launched() {
  const Launch launch = std::move(*std::exchange(launching_, std::nullopt));
  if (phase_ != Phase::setup && phase_ != Phase::running) return;
  const bool setup = phase_ == Phase::setup;
  if (const auto runs = outcome(order_, launch); !runs)
    return end_as(failure(setup ? Cause::setup_failed : Cause::launch_failed, runs.error()));
  if (setup) return;
  main_ = launch.pid;
  claim_.write(WorkerProcesses{own_, identify(main_)});
  tell_all(running_line(main_));
  if (!counts_since_) count();
  forget_order();
}

bool Supervisor::open_terminal() {
  auto opened = Terminal::open(order_.terminal, order_.uid, log_.get());
  if (opened)
    terminal_ = std::move(*opened);
  else
    end_as(failure(Cause::launch_failed, opened.error()));
  return opened.has_value();
}

// The environment and the command of the owner are needed no longer; a supervisor stays small.
void Supervisor::forget_order() {
  order_.environment = {};
  order_.command = {};
  forget_start_code();
}

void Supervisor::wait_for_setup() {
  const auto outcome = read_file(order_.setup_outcome);
  if (!outcome) return;
  if (*outcome == "ok") return start_main();
  end_as({Cause::setup_failed, {}, 0, now_us(), *outcome});
}

int Supervisor::timeout_ms() {
  const bool owes =
      std::ranges::any_of(connections_, [](const auto& c) { return !c.output.empty(); });
  if (phase_ == Phase::waiting || owes) return kSetupPollMs;
  if (phase_ != Phase::sweeping) {
    std::int64_t left_us = std::int64_t{kLongestPollMs} * 1000;
    if (const auto due = due_us()) left_us = std::min(left_us, *due - now_us());
    if (const auto lease = lease_left_us()) left_us = std::min(left_us, *lease);
    return static_cast<int>(std::max<std::int64_t>(left_us / 1000 + 1, 0));
  }
  return std::exchange(sweep_ms_, std::min(sweep_ms_ * 2, kSweepMsMax));
}

void Supervisor::turn() {
  std::vector<pollfd> watched{{signals_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const Connection& connection : connections_)
    watched.push_back({connection.fd.get(), POLLIN, 0});
  const std::size_t own = watched.size();
  if (terminal_) terminal_->add_to(watched);
  const std::size_t terminals = watched.size() - own;
  if (launching_) watched.push_back({launching_->report.get(), POLLIN, 0});
  ::poll(watched.data(), watched.size(), timeout_ms());
  if (terminal_) terminal_->handle(&watched[own], terminals);
  if (launching_ && watched.back().revents != 0) launched();
  for (std::size_t i = 2; i < own; ++i)
    if (watched[i].revents != 0) serve(connections_[i - 2]);
  std::erase_if(connections_, [](const Connection& c) { return !c.fd; });
  for (Connection& connection : connections_)
    if (!connection.output.empty()) send_output(connection);
  if (watched[1].revents != 0) accept_connection();
  if (watched[0].revents != 0) handle_signals();
  if (phase_ == Phase::waiting) wait_for_setup();
  if (const auto due = due_us(); due && *due <= now_us()) hold_limit();
  hold_lease();
  look_at_claim();
  if (phase_ == Phase::sweeping) sweep();
}

// Of a worker without a claim no agent knows when it starts: its slots would be given to others.
void Supervisor::look_at_claim() {
  if (phase_ == Phase::sweeping || !claim_.is_removed()) return;
  end_as({Cause::node_lost, {}, 0, now_us(), "The file of the worker's claim was removed."});
}

void Supervisor::handle_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (info.ssi_signo == SIGTERM) give_notice(SIGTERM);
  reap();
}

void Supervisor::accept_connection() {
  UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd && find_want(errno) != nullptr && errno != EAGAIN) ::poll(nullptr, 0, kSetupPollMs);
  if (!fd || !is_trusted_peer(fd.get())) return;
  if (connections_.size() == kConnectionsMax) connections_.erase(least_wanted());
  connections_.push_back({std::move(fd), {}, false, {}});
  if (main_ > 0) tell(connections_.back(), running_line(main_));
}

// The agent's own connection says what it is by its first command; whoever has said nothing makes
// room for the next one.
std::vector<Connection>::iterator Supervisor::least_wanted() {
  const auto silent = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& c) { return !c.commanded; });
  return silent == connections_.end() ? connections_.begin() : silent;
}

void Supervisor::serve(Connection& connection) {
  char buffer[512];
  const ssize_t n = ::recv(connection.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0 || connection.input.size() > kControlLineMax) return connection.fd.reset();
  connection.input.append(buffer, static_cast<std::size_t>(n));
  for (std::size_t end; (end = connection.input.find('\n')) != std::string::npos;) {
    const auto command = parse_command(std::string_view(connection.input).substr(0, end));
    connection.input.erase(0, end + 1);
    if (!command) continue;
    connection.commanded = true;
    obey(connection, *command);
  }
}

void Supervisor::obey(Connection& connection, const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::notice:
      return give_notice(command.signal);
    case ControlCommand::Kind::freeze:
      return freeze();
    case ControlCommand::Kind::thaw:
      return thaw();
    case ControlCommand::Kind::limit:
      return take_limit(command.limit);
    case ControlCommand::Kind::lease:
      return renew_lease(command.limit.left);
    case ControlCommand::Kind::ping:
      return tell(connection, "pong\n");
    case ControlCommand::Kind::kill:
      break;
  }
  killing_ = true;
  phase_ = Phase::sweeping;
}

void Supervisor::tell(Connection& connection, std::string_view line) {
  if (connection.output.size() < kOutputMax) connection.output.append(line);
  send_output(connection);
}

// Whoever is gone may have said something before, which is still to be read.
void Supervisor::send_output(Connection& connection) {
  std::string& output = connection.output;
  const ssize_t sent =
      ::send(connection.fd.get(), output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0)
    output.erase(0, static_cast<std::size_t>(sent));
  else if (find_want(errno) == nullptr)
    output.clear();
}

void Supervisor::tell_all(std::string_view line) {
  for (Connection& connection : connections_) tell(connection, line);
}

void Supervisor::give_notice(int signal) {
  if (phase_ == Phase::sweeping || signal <= 0 || signal >= NSIG) return;
  claim_.write_notice();
  notice_ = signal;
  if (phase_ == Phase::waiting) return end_as({Cause::signalled, {}, signal, now_us(), {}});
  // Before its exec it is nobody's shell yet.
  if (launching_) return send_signal(std::vector<pid_t>{launching_->pid}, signal);
  const pid_t root = phase_ == Phase::setup ? setup_ : main_;
  const auto shell = phase_ == Phase::setup ? file_id("/bin/sh") : shell_;
  send_signal(notice_targets(root, shell), signal);
}

void Supervisor::freeze() {
  frozen_ = true;
  stop_counting();
  freeze_tree();
}

void Supervisor::freeze_tree() {
  if (group_.tracks()) {
    group_.freeze();
    return;
  }
  std::vector<pid_t> stopped;
  for (int i = 0; i < kStopSweepsMax; ++i) {
    std::vector<pid_t> tree = descendants(::getpid());
    send_signal(tree, SIGSTOP);
    if (tree == stopped) return;
    stopped = std::move(tree);
  }
}

void Supervisor::thaw() {
  if (std::exchange(frozen_, false) && (main_ > 0 || limit_told_)) count();
  if (group_.tracks()) return group_.thaw();
  send_signal(descendants(::getpid()), SIGCONT);
}

// ---- its time ----

void Supervisor::take_limit(const RunLimit& limit) {
  limit_ = bounded(limit);
  limit_told_ = true;
  counts_since_.reset();
  count();
}

void Supervisor::count() {
  if (!frozen_) counts_since_ = now_us();
}

void Supervisor::stop_counting() {
  const auto since = std::exchange(counts_since_, std::nullopt);
  if (limit_ && since) limit_->left -= Duration{now_us() - *since};
}

// While an agent is there it is the server's word that counts: the server knows when the whole gang
// ran. One that hangs is waited for.
std::optional<std::int64_t> Supervisor::due_us() const {
  if (phase_ != Phase::setup && phase_ != Phase::running) return std::nullopt;
  if (kill_at_) return kill_at_;
  if (!limit_ || !counts_since_) return std::nullopt;
  const std::int64_t over = *counts_since_ + limit_->left.count();
  const bool alone = std::none_of(connections_.begin(), connections_.end(),
                                  [](const Connection& c) { return c.commanded; });
  if (alone) return over + kLimitSlackUs;
  if (limit_told_) return over + limit_->grace.count() + kHungServerUs;
  return std::nullopt;
}

// First the notice, then the kill.
void Supervisor::hold_limit() {
  if (kill_at_) {
    killing_ = true;
    phase_ = Phase::sweeping;
    return;
  }
  kill_at_ = now_us() + limit_->grace.count();
  if (notice_ == 0) give_notice(limit_->signal);
}

// ---- its lease ----

void Supervisor::renew_lease(Duration lease) {
  if (order_.lease_us <= 0 || lease_noticed_) return;
  lease_ = std::min(lease, Duration{kLongestLeaseUs});
  lease_ends_us_ = (since_boot_asleep_too() + lease_).count();
}

// Until the next that is to be done: the notice, then the kill.
std::optional<std::int64_t> Supervisor::lease_left_us() const {
  if (!lease_ends_us_) return std::nullopt;
  const std::int64_t grace = lease_noticed_ ? 0 : order_.lease_grace_us;
  return *lease_ends_us_ - grace - since_boot_asleep_too().count();
}

// While nobody is heard, whatever agent is there.
void Supervisor::hold_lease() {
  const auto left = lease_left_us();
  if (!left || *left > 0 || phase_ == Phase::sweeping || phase_ == Phase::over) return;
  const bool noticed = std::exchange(lease_noticed_, true);
  if (noticed || order_.lease_grace_us == 0)
    end_as({Cause::node_lost, {}, 0, now_us(), {}});
  else if (notice_ == 0)
    give_last_notice();
}

// One that is frozen goes on, to save.
void Supervisor::give_last_notice() {
  thaw();
  give_notice(order_.lease_signal);
}

// True while a descendant is left: orphans of the tree become children of the supervisor.
bool Supervisor::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (launching_ && pid == launching_->pid) launched();
    if (pid == main_) main_ended(status);
    if (pid == setup_) setup_ended(status);
  }
  return pid == 0;
}

// The other workers of the gang on this node wait for the outcome of the setup: "ok", or the
// sentence that says what failed.
Result<void> Supervisor::tell_gang(std::string_view outcome) {
  return replace_file(AT_FDCWD, order_.setup_outcome.c_str(), outcome);
}

void Supervisor::main_ended(int status) {
  WorkerEnding ending{Cause::exited, {}, 0, now_us(), {}};
  if (WIFEXITED(status))
    ending.exit_code = WEXITSTATUS(status);
  else
    ending.cause = Cause::signalled;
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (failed && !killing_ && group_.out_of_memory()) {
    ending.cause = Cause::out_of_memory;
    const auto limit = order_.cgroups.limits.memory_bytes >> 20;
    ending.message = limit > 0
                         ? fmt::format("The worker used more than its {} MiB of memory.", limit)
                         : "The machine, or what the server runs in, ran out of memory.";
  }
  end_as(std::move(ending));
}

void Supervisor::setup_ended(int status) {
  setup_ = 0;
  if (phase_ != Phase::setup) return;
  const bool ended = WIFEXITED(status);
  if (ended && WEXITSTATUS(status) == 0 && notice_ == 0) {
    if (const auto told = tell_gang("ok"); !told)
      return end_as(failure(Cause::setup_failed, told.error()));
    return start_main();
  }
  if (notice_ != 0) return end_as({Cause::signalled, {}, notice_, now_us(), {}});
  const std::string message = fmt::format(
      "The setup ended {} {}; see the log of rank {}.", ended ? "with exit code" : "by signal",
      ended ? WEXITSTATUS(status) : WTERMSIG(status), order_.key.number);
  end_as({Cause::setup_failed, {}, 0, now_us(), message});
}

// The first ending counts; from here on whatever is left of the tree is killed.
void Supervisor::end_as(WorkerEnding ending) {
  if (!ending_) ending_ = std::move(ending);
  if (kill_at_) ending_->cause = Cause::timed_out;
  if (lease_noticed_) {
    ending_->cause = Cause::node_lost;
    ending_->message =
        fmt::format("Its machine heard of no server for {} s, so it was ended there.",
                    lease_.count() / 1'000'000);
  }
  // Where that can't be told, the end of this worker stops the others.
  if (order_.runs_setup && ending_->cause == Cause::setup_failed)
    static_cast<void>(tell_gang(ending_->message));
  phase_ = Phase::sweeping;
}

void Supervisor::sweep() {
  if (!reap() && group_.members().empty()) return finish();
  freeze_tree();
  send_signal(descendants(::getpid()), SIGKILL);
  send_signal(group_.members(), SIGKILL);
  group_.thaw();
}

void Supervisor::finish() {
  if (!group_.remove()) return;
  if (terminal_) terminal_->drain();
  if (!ending_) end_as({Cause::signalled, {}, SIGKILL, now_us(), {}});
  claim_.write(*ending_);
  held_.clear();
  tell_all(ended_line(*ending_));
  if (terminal_) terminal_->close();
  phase_ = Phase::over;
}

}  // namespace

int supervise(Inheritance inheritance) {
  ClaimFile claim(std::move(inheritance.claim), {});
  auto order = claim.order();
  if (!order) return 1;
  inheritance.claim = claim.release();
  return Supervisor(std::move(inheritance), std::move(*order)).run();
}

}  // namespace paceline::agent
