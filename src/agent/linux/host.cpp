#include "agent/linux/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "agent/linux/accounts.hpp"
#include "agent/linux/cgroups.hpp"
#include "agent/linux/devices.hpp"
#include "agent/linux/environment.hpp"
#include "agent/linux/file_remover.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/gang_reach.hpp"
#include "agent/linux/health.hpp"
#include "agent/linux/job_log_limit.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/log_limit.hpp"
#include "agent/linux/log_room.hpp"
#include "agent/linux/lookers.hpp"
#include "agent/linux/machine.hpp"
#include "agent/linux/marks.hpp"
#include "agent/linux/nursery.hpp"
#include "agent/linux/ports.hpp"
#include "agent/linux/process.hpp"
#include "agent/linux/remove_tree.hpp"
#include "agent/linux/segments.hpp"
#include "agent/linux/set_aside.hpp"
#include "agent/linux/shm.hpp"
#include "agent/linux/stacks_door.hpp"
#include "agent/linux/status_listener.hpp"
#include "agent/linux/unclaimed.hpp"
#include "agent/linux/worker.hpp"
#include "agent/linux/worker_files.hpp"
#include "agent/linux/worker_socket.hpp"
#include "agent/wants.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"
#include "files/chores.hpp"
#include "files/log_names.hpp"
#include "files/random_name.hpp"
#include "loop/timer.hpp"

namespace paceline::agent {
namespace {

constexpr auto kTick = std::chrono::milliseconds{50};
constexpr auto kDeviceInterval = std::chrono::seconds{5};
constexpr auto kAccountsInterval = std::chrono::seconds{30};
constexpr auto kLogInterval = std::chrono::seconds{5};
constexpr auto kJobLogInterval = std::chrono::milliseconds{250};
constexpr auto kSegmentsInterval = std::chrono::milliseconds{500};
constexpr auto kTidyInterval = std::chrono::seconds{1};
constexpr auto kLeavingPatience = std::chrono::milliseconds{500};
constexpr std::uint64_t kLeavingSteps = 20'000;
constexpr std::size_t kTickBytes = 8 << 20;  // read of all logs together
constexpr auto kFlushWait = std::chrono::milliseconds{2};
// Less is kept for what runs: ends, reports, the journal.
constexpr DiskSpace kRoomMin{8U << 20, 64};

// Those that were born together share ports and /dev/shm.
GangKey gang_of(const ProcessKey& key) { return {key.job, key.born}; }

constexpr std::size_t kLostSupervisorsMax = 4096;

// Used by one chore at a time.
struct HeldLogs {
  explicit HeldLogs(const HostOptions& options)
      : of_users(options.directory, options.logs_per_user),
        of_jobs(options.directory, options.logs_per_job) {}
  LogLimit of_users;
  JobLogLimit of_jobs;
  std::atomic<bool> busy = false;
};

std::string name_of_node(const HostOptions& options) {
  if (!options.node_name.empty()) return options.node_name;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

Result<void> make_own_directories(const std::string& directory) {
  for (const char* name :
       {"agent", "agent/workers", "agent/damaged", "agent/setups", "agent/terminals", "logs"})
    if (auto made = make_directories(directory + "/" + name, 0700); !made) return made;
  return {};
}

}  // namespace

struct LinuxHost::Impl {
  Impl(boost::asio::io_context& io_context, Clock& time, HostOptions host_options,
       std::string boot_id)
      : io(io_context),
        options(std::move(host_options)),
        context{io_context,
                time,
                std::move(boot_id),
                [this](Observation seen) { handler(std::move(seen)); },
                lookers,
                [this] { nursery.wake(); },
                [this](const ProcessKey& key) { return count_lost_supervisor(key); },
                options.rendezvous_patience},
        accounts(options.accounts, name_of_node(options)),
        inquiries(io_context, options.find_uid),
        marks(options.directory),
        cgroups(Cgroups::discover(marks.group())),
        memory(marks.group()),
        devices(below("agent/workers"), options.cpu_slots,
                DeviceLocks(options.directory, options.lock_directories),
                std::string(kPciDirectory), options.lent_gpus),
        blocks(options.port_lock_directories.empty() ? port_lock_directories(options.directory)
                                                     : options.port_lock_directories),
        nursery(options.supervisor, raise_open_files()),
        door(io_context),
        reach(io_context, name_of_node(options), options.reach_times),
        directories(io_context, options.directory, name_of_node(options), options.ships),
        lookers(io_context, [this](UniqueFd socket) { return raise_looker(std::move(socket)); }),
        held_logs(std::make_shared<HeldLogs>(options)),
        tick_timer(io_context),
        log_timer(io_context),
        tidy_timer(io_context),
        flush_timer(io_context),
        device_timer(io_context),
        accounts_timer(io_context),
        health(io_context, time,
               {options.directory, kRoomMin, options.health_check, options.health_check_times},
               [this] { devices_changed(); }) {
    context.log_at_end = options.log_at_end;
    context.checkpoint_entries = options.checkpoint_entries;
    context.travelled = options.directory + "/jobs/";
    context.node_name = name_of_node(options);
    if (options.accounts != Accounts::as_told) context.node = name_of_node(options);
  }

  Result<void> open();
  Result<void> find_claims();
  Result<void> add_unclaimed();
  void open_status();
  void open_stacks();
  void open_door();
  void load();
  void adopt(const ProcessKey& key, ClaimFile claim);
  void set_aside(const ProcessKey& key, ClaimFile claim);
  void watch_aside(const ProcessKey& key, ClaimFile claim);
  int count_lost_supervisor(const ProcessKey& key);
  void remove_strays(const std::string& directory) const;
  [[nodiscard]] bool has_worker(const GangKey& gang,
                                bool (*is_meant)(const SupervisedWorker& worker)) const;
  void leave_memory();
  void forget_memory(const GangKey& gang);
  void tidy_memory();

  void start(const WorkerLaunch& launch);
  void try_peers(const WorkerLaunch& launch);
  void take_reach(const ProcessKey& key, const std::string& problem);
  void start_reached(const WorkerLaunch& launch);
  void take_account(const ProcessKey& key, const FoundUid& found);
  void start_identified(WorkerLaunch launch, const FoundUid& found);
  void start_now(const WorkerLaunch& launch);
  void start_shipped(WorkerLaunch launch);
  void take_arrived(JobId job, const Result<Arrived>& arrived);
  void keep(WantedCheckpoint checkpoint);
  void keep_for(WantedCheckpoint checkpoint, const FoundUid& found);
  void warn_of_directory(JobId job);
  enum class Refused { machine, job };  // who is held back
  void refuse_start(const ProcessKey& key, const Error& error, Refused refused = Refused::machine);
  bool keep_for_later(const Action& action);
  void go_on(const std::vector<Action>& actions);
  Result<void> try_start(WorkerLaunch launch, const std::string& path);
  Result<void> identify(WorkerLaunch& launch, const FoundUid& found);
  void watch_accounts();
  void look_again(const std::string& user);
  Result<WorkerOrder> make_order(const WorkerLaunch& launch, const TakenDevices& taken);
  void offer_status(const WorkerOrder& order, WorkerFacts& facts) const;
  static void write_hostfile(const WorkerLaunch& launch, WorkerFacts& facts);
  Result<std::uint32_t> gang_port(const WorkerLaunch& launch);
  [[nodiscard]] bool wants_own_memory(const WorkerLaunch& launch) const;
  void perform(const Action& action);
  void discard(const ProcessKey& key);
  bool forget_gang(const ProcessKey& key);
  void discard_aside(const ProcessKey& key);
  void tell_lost(const ProcessKey& key, const std::string& why);
  void tell_later(Observation seen);
  [[nodiscard]] SupervisedWorker* find(const ProcessKey& key) const;

  [[nodiscard]] std::string unwatched() const;
  bool look_at_devices();
  std::vector<std::uint32_t> all_slots();
  [[nodiscard]] std::uint64_t usable_memory() const;
  void watch_devices(std::chrono::seconds delay);
  void keep_ticking();
  void look_at_segments();
  void read_logs();
  [[nodiscard]] std::map<JobId, JobLogs> take_job_logs();
  void hold_job_logs();
  void hold_logs();
  Result<void> raise_looker(UniqueFd socket);
  void flush_nursery();

  [[nodiscard]] std::string below(const std::string& name) const {
    return options.directory + "/" + name;
  }

  [[nodiscard]] std::string socket_path(const ProcessKey& key) const {
    return sockets + "/" + claim_name(key) + ".sock";
  }

  boost::asio::io_context& io;
  HostOptions options;
  std::function<void(Observation)> handler = [](const Observation&) {};
  Chores chores;
  FileRemover remover{io, chores};
  WorkerContext context;
  AccountBook accounts;
  AccountInquiries inquiries;
  Marks marks;
  Cgroups cgroups;
  GangMemory memory;
  GangSegments segments;  // of gangs without memory of their own that were started here
  std::chrono::steady_clock::time_point next_segments;
  Devices devices;
  PortBlocks blocks;
  Nursery nursery;
  ReachDoor door;
  ReachCheck reach;
  JobDirectories directories;
  // A start that waits, with what was asked of it meanwhile.
  struct Waiting {
    WorkerLaunch launch;
    std::vector<Action> actions;
    bool warned = false;
    Duration since = since_boot_asleep_too();  // its lease counts from here
  };
  void take_back_warning(const Waiting& start);
  bool is_leased(Waiting& start);
  void renew_waiting(Duration lease);
  std::map<ProcessKey, Waiting> trying;   // until its node's peers are reached
  std::map<ProcessKey, Waiting> naming;   // then until its user's account is known
  std::map<ProcessKey, Waiting> waiting;  // then for its job's directory
  // The newest of each job, until its user's account is known.
  std::map<JobId, WantedCheckpoint> keeping;
  Lookers lookers;
  std::shared_ptr<HeldLogs> held_logs;
  std::shared_ptr<std::atomic<bool>> emptying = std::make_shared<std::atomic<bool>>(false);
  std::set<LogKey> begun_logs;             // since the users' limit was held last
  std::map<JobId, JobLogs> begun_of_jobs;  // since the jobs' limit was
  std::chrono::steady_clock::time_point next_job_logs;
  Timer tick_timer;
  Timer log_timer;
  Timer tidy_timer;
  Timer flush_timer;
  Timer device_timer;
  Timer accounts_timer;
  Health health;
  std::vector<std::pair<ProcessKey, ClaimFile>> unread;  // until load()
  std::map<ProcessKey, std::shared_ptr<SupervisedWorker>> workers;
  std::map<ProcessKey, std::shared_ptr<SetAsideWorker>> aside;
  struct LostSupervisors {
    Generation last;
    int times = 0;
  };
  std::map<JobId, LostSupervisors> lost_supervisors;
  std::map<GangKey, Ports> gangs;
  std::vector<SlotSpec> slots;  // as described last
  std::function<void()> devices_changed = [] {};
  std::string sockets;  // the directory of the worker sockets
  std::string machine;  // empty: not known
  std::unique_ptr<StatusListener> status;
  std::unique_ptr<StacksDoor> stacks;
  ProcessKey read_last;  // whose log was read last
  bool loaded = false;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

Result<void> LinuxHost::Impl::open() {
  if (auto found_all = find_claims(); !found_all) return found_all;
  auto made = make_socket_directory(options.directory);
  if (!made) return fail(made.error());
  sockets = *made;
  machine = identify_machine(below("agent"));
  open_status();
  open_stacks();
  open_door();
  watch_devices(kDeviceInterval);
  health.start();
  return nursery.open();
}

// Jobs run without it, too.
void LinuxHost::Impl::open_status() {
  const auto token_of = [this](const ProcessKey& key, std::uint32_t port) -> std::string {
    const auto* worker = find(key);
    const bool known =
        worker != nullptr && !worker->has_ended() && worker->order().status_port == port;
    return known ? worker->order().status_token : std::string();
  };
  const auto take = [this](const ProcessKey& key, const std::string& body) {
    auto* worker = find(key);
    return worker == nullptr ? HttpResponse{.status = 404, .body = "{}"}
                             : worker->take_status(body);
  };
  status = std::make_unique<StatusListener>(below("agent/status_port"), token_of, take);
  if (const auto opened = status->open(io, blocks); !opened)
    spdlog::warn("Trainer-status posts are not taken: {}", opened.error().message);
}

// Jobs run without it, too.
void LinuxHost::Impl::open_stacks() {
  auto opened = StacksDoor::open(io, below("agent/stacks.sock"),
                                 [this](const ProcessKey& key, WorkerStacks::Told told) {
                                   auto* worker = find(key);
                                   return worker != nullptr && worker->tell_stacks(std::move(told));
                                 });
  if (!opened) return spdlog::warn("Stacks of workers are not told: {}", opened.error().message);
  stacks = std::move(*opened);
}

// Nodes whose address means each machine itself have no gangs with others. Where there is no door, no
// other node tries the way here.
void LinuxHost::Impl::open_door() {
  if (is_loopback(options.address)) return door.close();
  if (const auto opened = door.open(options.address, blocks); !opened)
    spdlog::warn("Other nodes can't try whether they reach this one: {}", opened.error().message);
}

// Where that can't be, the worker is told of no place to post to.
void LinuxHost::Impl::offer_status(const WorkerOrder& order, WorkerFacts& facts) const {
  if (!status->is_open()) return;
  const std::string path = token_path(order.socket);
  if (const auto written = write_worker_file(path, order.status_token, order.uid); !written) {
    spdlog::warn("{}", written.error().message);
    return;
  }
  facts.status_url = status->url(order.key);
  facts.status_token = path;
}

// The same.
void LinuxHost::Impl::write_hostfile(const WorkerLaunch& launch, WorkerFacts& facts) {
  const std::string path = hostfile_path(facts.socket);
  if (const auto written = write_worker_file(path, hostfile_of(launch), launch.uid); !written)
    return spdlog::warn("{}", written.error().message);
  facts.hostfile = path;
}

// ---- claims ----

// Of whoever is not found here another agent would be told that he is gone. What only this process
// lacks is no reason to set a claim aside.
Result<void> LinuxHost::Impl::find_claims() {
  const auto names = read_directory(below("agent/workers"));
  if (!names) return fail(names.error());
  for (const std::string& name : *names) {
    const auto key = parse_claim_name(name);
    if (!key) continue;
    errno = 0;
    ClaimFile claim = ClaimFile::open(marks.claim_path(*key));
    if (!claim && find_want(errno) != nullptr && errno != EIO)
      return fail(
          system_error("The claim '" + marks.claim_path(*key) + "' can't be opened", errno));
    unread.emplace_back(*key, std::move(claim));
  }
  return add_unclaimed();
}

// Whose claim's file was removed lives on until his supervisor has ended him.
Result<void> LinuxHost::Impl::add_unclaimed() {
  auto found = find_unclaimed(marks);
  if (!found) return fail(found.error());
  std::set<ProcessKey> claimed;
  for (const auto& [key, claim] : unread) claimed.insert(key);
  for (const std::string& name : list_directory(below("agent/damaged")))
    if (const auto key = parse_claim_name(name)) claimed.insert(*key);
  for (auto& [key, claim] : found->removed)
    if (claimed.insert(key).second) unread.emplace_back(key, std::move(claim));
  for (const ProcessKey& key : found->marked)
    if (claimed.insert(key).second) unread.emplace_back(key, ClaimFile(UniqueFd(), key));
  return {};
}

void LinuxHost::Impl::load() {
  if (loaded) return;
  loaded = true;
  for (const std::string& name : list_directory(below("agent/damaged")))
    if (const auto key = parse_claim_name(name))
      watch_aside(*key, ClaimFile::open(marks.aside_path(*key)));
  for (auto& [key, claim] : std::exchange(unread, {})) adopt(key, std::move(claim));
  for (const std::string& directory : {sockets, below("agent/terminals"), below("agent/setups")})
    remove_strays(directory);
  tidy_memory();
  keep_ticking();
  hold_logs();
}

// Does the gang have a worker of whom that is true, or one whose claim can't be read?
bool LinuxHost::Impl::has_worker(const GangKey& gang,
                                 bool (*is_meant)(const SupervisedWorker& worker)) const {
  const ProcessKey first{gang.first, gang.second, 0};
  const auto damaged = aside.lower_bound(first);
  if (damaged != aside.end() && gang_of(damaged->first) == gang) return true;
  for (auto it = workers.lower_bound(first); it != workers.end() && gang_of(it->first) == gang;
       ++it)
    if (is_meant(*it->second)) return true;
  return false;
}

// The chores of an agent that leaves may never be done. What is too much for now is left to the next.
void LinuxHost::Impl::leave_memory() {
  if (!loaded) return;
  for (const GangKey& gang : memory.known().value_or(std::vector<GangKey>{}))
    if (!has_worker(gang, [](const SupervisedWorker& worker) { return !worker.is_gone(); }))
      memory.forget(gang);
  const auto until = std::chrono::steady_clock::now() + kLeavingPatience;
  for (const std::string& directory : memory.forgotten().value_or(std::vector<std::string>{}))
    if (std::chrono::steady_clock::now() < until) remove_tree(directory, kLeavingSteps);
}

// What an agent that was killed while it forgot a worker left of it.
void LinuxHost::Impl::remove_strays(const std::string& directory) const {
  for (const std::string& name : list_directory(directory)) {
    const bool setup = directory.ends_with("/setups");
    const auto key = parse_claim_name(setup ? name + ".0" : name.substr(0, name.rfind('.')));
    if (!key) continue;
    const auto first = workers.lower_bound(setup ? ProcessKey{key->job, key->born, 0} : *key);
    const bool known = first != workers.end() &&
                       (setup ? gang_of(first->first) == gang_of(*key) : first->first == *key);
    if (!known) ::unlink((directory + "/" + name).c_str());
  }
}

// A claim whose supervisor lives stays with it, whatever it looks like: nothing of it is removed or
// told to have ended before its lock is ours.
void LinuxHost::Impl::adopt(const ProcessKey& key, ClaimFile claim) {
  if (!claim) return set_aside(key, std::move(claim));
  const ClaimState state = claim.state();
  // Whoever made it died before anything could be started: the server asks for it again.
  const auto has_nobody = [&](ClaimFormat format) {
    return marked_processes(marks.marker(key, format)).nobody();
  };
  const bool never_began = state == ClaimState::unfinished && claim.lock() &&
                           has_nobody(ClaimFormat::sealed) && has_nobody(ClaimFormat::plain);
  if (never_began) return static_cast<void>(::unlink(marks.claim_path(key).c_str()));
  const bool whole = state == ClaimState::exact || state == ClaimState::plain;
  auto order = whole ? claim.order() : std::nullopt;
  if (!order || !marks.are_on(*order, claim.format())) return set_aside(key, std::move(claim));
  if (order->boot_id == context.boot_id && !claim.begun())
    return static_cast<void>(::unlink(marks.claim_path(key).c_str()));
  if (!order->shm.empty()) memory.adopt(gang_of(order->key), claim.processes().main.pid);
  if (order->port != 0) gangs.try_emplace(gang_of(order->key), Ports{order->port, {}});
  auto worker = std::make_shared<SupervisedWorker>(context, marks.claim_path(key), std::move(claim),
                                                   std::move(*order));
  workers.emplace(key, worker);
  worker->adopt();
}

void LinuxHost::Impl::set_aside(const ProcessKey& key, ClaimFile claim) {
  const std::string path = marks.claim_path(key);
  if (::rename(path.c_str(), marks.aside_path(key).c_str()) != 0 && errno != ENOENT)
    spdlog::error("{}", system_error("'" + path + "' can't be moved", errno).message);
  watch_aside(key, std::move(claim));
}

// A claim that was set aside before and whose worker is over concerns nobody any more.
void LinuxHost::Impl::watch_aside(const ProcessKey& key, ClaimFile claim) {
  CgroupLimits limits;
  limits.processes = options.worker_processes;
  const auto worker = std::make_shared<SetAsideWorker>(context, std::move(claim), marks,
                                                       cgroups.plan(claim_name(key), limits));
  worker->watch();
  spdlog::error("{}", worker->problem());
  aside.insert_or_assign(key, worker);
}

int LinuxHost::Impl::count_lost_supervisor(const ProcessKey& key) {
  LostSupervisors& lost = lost_supervisors[key.job];
  if (lost.last == key.born) return lost.times;
  const bool in_a_row = lost.last.value + 1 == key.born.value;
  lost = {key.born, in_a_row ? lost.times + 1 : 1};
  const int times = lost.times;
  if (lost_supervisors.size() > kLostSupervisorsMax)
    lost_supervisors.erase(lost_supervisors.begin());
  return times;
}

SupervisedWorker* LinuxHost::Impl::find(const ProcessKey& key) const {
  const auto found = workers.find(key);
  return found == workers.end() ? nullptr : found->second.get();
}

// ---- start ----

void LinuxHost::Impl::start(const WorkerLaunch& launch) {
  const ProcessKey& key = launch.key;
  const bool waits = trying.contains(key) || naming.contains(key) || waiting.contains(key);
  if (find(key) != nullptr || aside.contains(key) || waits) return;
  launch.peers.empty() ? start_reached(launch) : try_peers(launch);
}

void LinuxHost::Impl::try_peers(const WorkerLaunch& launch) {
  trying.emplace(launch.key, Waiting{launch, {}});
  reach.ask(gang_of(launch.key), launch.peers,
            [this, key = launch.key](const std::string& problem) { take_reach(key, problem); });
}

// This gang meets elsewhere, perhaps: others start here.
void LinuxHost::Impl::take_reach(const ProcessKey& key, const std::string& problem) {
  auto start = trying.extract(key);
  if (start.empty()) return;  // it was killed
  if (!problem.empty())
    return refuse_start(key, {ErrorCode::unavailable, problem, {}, Retry::may_help}, Refused::job);
  if (!is_leased(start.mapped())) return;
  start_reached(start.mapped().launch);
  go_on(start.mapped().actions);
}

// What waits uses up its lease as what runs does: where no server is heard for so long, others may run it
// elsewhere. False: it is over, and told.
bool LinuxHost::Impl::is_leased(Waiting& start) {
  if (!start.launch.lease) return true;
  Duration& left = start.launch.lease->left;
  left -= since_boot_asleep_too() - start.since;
  if (left > Duration::zero()) return true;
  tell_lost(start.launch.key, "Its machine heard of no server for too long before it could start.");
  return false;
}

void LinuxHost::Impl::renew_waiting(Duration lease) {
  const Duration now = since_boot_asleep_too();
  for (auto* starts : {&trying, &naming, &waiting})
    for (auto& [key, start] : *starts) {
      if (start.launch.lease) start.launch.lease->left = lease;
      start.since = now;
    }
}

void LinuxHost::Impl::go_on(const std::vector<Action>& actions) {
  for (const Action& action : actions)
    if (!keep_for_later(action)) perform(action);
}

void LinuxHost::Impl::start_reached(const WorkerLaunch& launch) {
  if (auto sound = validate(launch.launch); !sound) return refuse_start(launch.key, sound.error());
  if (!accounts.must_ask()) return start_identified(launch, {});
  naming.emplace(launch.key, Waiting{launch, {}});
  inquiries.ask(launch.user,
                [this, key = launch.key](const FoundUid& found) { take_account(key, found); });
}

void LinuxHost::Impl::take_account(const ProcessKey& key, const FoundUid& found) {
  auto start = naming.extract(key);
  if (start.empty()) return;  // it was killed
  if (!is_leased(start.mapped())) return;
  start_identified(start.mapped().launch, found);
  go_on(start.mapped().actions);
}

void LinuxHost::Impl::start_identified(WorkerLaunch launch, const FoundUid& found) {
  if (auto known = identify(launch, found); !known) return refuse_start(launch.key, known.error());
  if (launch.launch.shipped.ship.empty() && !launch.copy) return start_now(launch);
  start_shipped(std::move(launch));
}

void LinuxHost::Impl::start_now(const WorkerLaunch& launch) {
  const auto started = try_start(launch, marks.claim_path(launch.key));
  if (!started) refuse_start(launch.key, started.error());
  keep_ticking();
}

// What the job's owner can mend alone is no want of this machine.
void LinuxHost::Impl::refuse_start(const ProcessKey& key, const Error& error, Refused refused) {
  for (const auto& file : worker_files(socket_path(key))) ::unlink(file.c_str());
  if (forget_gang(key)) forget_memory(gang_of(key));
  const bool lost = error.code == ErrorCode::not_found || error.code == ErrorCode::data;
  WorkerGone gone;
  gone.key = key;
  gone.cause = error.retry == Retry::may_help ? Cause::refused
               : lost                         ? Cause::missing
                                              : Cause::launch_failed;
  gone.alone = refused == Refused::job || error.code == ErrorCode::conflict;
  gone.message = error.message;
  if (lost && !error.hint.empty()) gone.message += " " + error.hint;
  watch_devices(std::chrono::seconds{0});
  gone.at = context.clock.now();
  tell_later(gone);
}

// ---- what travels with a job ----

// One is made for all workers of the job here.
void LinuxHost::Impl::start_shipped(WorkerLaunch launch) {
  const ProcessKey key = launch.key;
  const JobId job = key.job;
  const auto first = waiting.lower_bound(ProcessKey{job, {}, 0});
  const bool under_way = first != waiting.end() && first->first.job == job;
  const auto& kept = waiting.emplace(key, Waiting{std::move(launch), {}}).first->second;
  if (under_way) return;
  directories.make(
      kept.launch, [this, job](const Result<Arrived>& arrived) { take_arrived(job, arrived); },
      [this, job] { warn_of_directory(job); });
}

void LinuxHost::Impl::warn_of_directory(JobId job) {
  const auto first = waiting.lower_bound(ProcessKey{job, {}, 0});
  for (auto it = first; it != waiting.end() && it->first.job == job; ++it) {
    it->second.warned = true;
    tell_later(WorkerWarning{it->first, Warning::no_directory, true});
  }
}

void LinuxHost::Impl::take_back_warning(const Waiting& start) {
  if (start.warned) tell_later(WorkerWarning{start.launch.key, Warning::no_directory, false});
}

void LinuxHost::Impl::take_arrived(JobId job, const Result<Arrived>& arrived) {
  std::vector<Waiting> ready;
  const auto first = waiting.lower_bound(ProcessKey{job, {}, 0});
  auto last = first;
  for (; last != waiting.end() && last->first.job == job; ++last)
    ready.push_back(std::move(last->second));
  waiting.erase(first, last);
  const auto worker = workers.lower_bound(ProcessKey{job, {}, 0});
  const bool has_workers = worker != workers.end() && worker->first.job == job;
  if (ready.empty() && !has_workers) directories.remove(job);  // nobody tells of its end
  for (auto& start : ready) {
    take_back_warning(start);
    auto& [launch, actions, warned, since] = start;
    if (!arrived) {
      // What this machine lacks for other jobs, their starts find out.
      refuse_start(launch.key, arrived.error(), Refused::job);
      continue;
    }
    if (!is_leased(start)) continue;
    if (!arrived->checkpoint.empty()) launch.checkpoint = arrived->checkpoint;
    if (!arrived->directory.empty()) {
      launch.launch.directory = arrived->directory;
      auto& environment = launch.launch.environment;
      if (environment.contains("PWD")) environment["PWD"] = arrived->directory;
    }
    start_now(launch);
    for (const Action& action : actions) perform(action);
  }
}

void LinuxHost::Impl::keep(WantedCheckpoint checkpoint) {
  if (!options.keep) return;
  if (!accounts.must_ask()) return keep_for(std::move(checkpoint), {});
  const JobId job = checkpoint.key.job;
  const std::string user = checkpoint.user;
  if (!keeping.insert_or_assign(job, std::move(checkpoint)).second) return;
  inquiries.ask(user, [this, job](const FoundUid& found) {
    keep_for(std::move(keeping.extract(job).mapped()), found);
  });
}

// Of an account that this machine doesn't have there are no files here.
void LinuxHost::Impl::keep_for(WantedCheckpoint checkpoint, const FoundUid& found) {
  WorkerLaunch whose;
  whose.user = checkpoint.user;
  whose.uid = checkpoint.uid;
  if (const auto known = accounts.identify(whose, found); !known)
    return spdlog::warn("The checkpoint '{}' of job {} isn't sent to the server: {}",
                        checkpoint.path, checkpoint.key.job.value, known.error().message);
  checkpoint.uid = whose.uid;
  options.keep(std::move(checkpoint));
}

// A worker that waits is nobody yet: its kill is its end, all else is done once it has started.
bool LinuxHost::Impl::keep_for_later(const Action& action) {
  const auto key = std::visit(
      [](const auto& each) -> std::optional<ProcessKey> {
        if constexpr (requires { each.key; })
          return each.key;
        else
          return std::nullopt;
      },
      action);
  if (!key) return false;
  auto& starts = trying.contains(*key) ? trying : naming.contains(*key) ? naming : waiting;
  const auto found = starts.find(*key);
  if (found == starts.end()) return false;
  if (!std::holds_alternative<Kill>(action)) {
    found->second.actions.push_back(action);
    return true;
  }
  take_back_warning(found->second);
  starts.erase(found);
  WorkerGone gone;
  gone.key = *key;
  gone.cause = Cause::signalled;
  gone.signal = SIGKILL;
  gone.at = context.clock.now();
  tell_later(gone);
  return true;
}

// Whom it turns out not to know it says before the end that is the reason, so that the next plan
// knows.
Result<void> LinuxHost::Impl::identify(WorkerLaunch& launch, const FoundUid& found) {
  const auto before = accounts.strangers();
  auto known = accounts.identify(launch, found);
  if (accounts.strangers() != before) {
    devices_changed();
    watch_accounts();
  }
  return known;
}

void LinuxHost::Impl::watch_accounts() {
  accounts_timer.after(kAccountsInterval, [this] {
    for (const std::string& user : accounts.strangers()) look_again(user);
    if (!accounts.strangers().empty()) watch_accounts();
  });
}

void LinuxHost::Impl::look_again(const std::string& user) {
  if (inquiries.is_asked(user)) return;
  inquiries.ask(user, [this, user](const FoundUid& found) {
    if (accounts.look_again(user, found)) devices_changed();
  });
}

Result<void> LinuxHost::Impl::try_start(WorkerLaunch launch, const std::string& path) {
  if (auto room = look_for_room(options.directory, kRoomMin); !room) return room;
  auto taken = devices.take(launch.slots, launch.local_slots);
  if (!taken) return fail(taken.error());
  auto order = make_order(launch, *taken);
  if (!order) return fail(order.error());
  UniqueFd ipc;
  if (wants_own_memory(launch)) {
    auto given = memory.give(gang_of(launch.key));
    if (!given) return fail(given.error());
    order->shm = std::move(given->directory);
    ipc = std::move(given->ipc);
  }
  auto claim = ClaimFile::create(path, *order);
  if (!claim) return fail(claim.error());
  if (order->shm.empty() && !launch.launch.shared_shm)
    segments.watch(gang_of(launch.key), {order->uid, order->marker});
  Inheritance inheritance;
  inheritance.claim = claim->release();
  inheritance.listener = listen_control(order->control);
  const int deaf = errno;  // where nobody listens
  const auto give_up = [&](const Error& error) -> Result<void> {
    ::unlink(path.c_str());
    return fail(error);
  };
  const std::vector<UniqueFd>& locks = gangs[gang_of(launch.key)].locks;
  for (const auto* held : {&locks, &status->held()}) {
    auto copies = duplicate(*held);
    if (!copies) return give_up(copies.error());
    for (UniqueFd& copy : *copies) inheritance.held.push_back(std::move(copy));
  }
  for (UniqueFd& lock : taken->locks) inheritance.held.push_back(std::move(lock));
  if (ipc) inheritance.held.push_back(std::move(ipc));
  UniqueFd control = connect_control(order->control);
  ClaimFile ours = ClaimFile::open(path);
  if (!inheritance.listener || !control || !ours)
    return give_up(system_error("The worker's supervisor can't be reached",
                                inheritance.listener ? errno : deaf));
  auto worker =
      std::make_shared<SupervisedWorker>(context, path, std::move(ours), std::move(*order));
  if (const auto begun = worker->begin(std::move(control)); !begun) {
    worker->leave();
    return give_up(begun.error());
  }
  workers.emplace(launch.key, worker);
  // From here on the end of the connection tells what becomes of it, a nursery that fails included.
  nursery.raise(std::move(inheritance));
  flush_nursery();
  return {};
}

// What it is to reach must not lie under what it does not see.
bool LinuxHost::Impl::wants_own_memory(const WorkerLaunch& launch) const {
  return memory.permitted() && !launch.launch.shared_shm &&
         !in_shared_memory(launch.launch.directory) && !in_shared_memory(options.directory);
}

// Known to all agents of a gang, and to nobody else; empty: it has no secret.
std::string name_of_gang(const WorkerLaunch& launch) {
  const auto secret = launch.launch.environment.find(kGangSecret);
  if (secret == launch.launch.environment.end()) return {};
  const auto digest = Digest().add(std::string_view(secret->second)).value();
  return fmt::format("gang {}.{} {:016x}", launch.key.job.value, launch.key.born.value, digest);
}

// The workers of a gang on several nodes meet at ports that are the same everywhere; two of those nodes may
// be agents of this machine. One worker alone has nobody to meet: it starts without ports of its own, too.
Result<std::uint32_t> LinuxHost::Impl::gang_port(const WorkerLaunch& launch) {
  const auto known = gangs.find(gang_of(launch.key));
  if (known != gangs.end()) return known->second.first;
  const std::uint32_t needed = ports_needed(launch.world_size);
  auto ports = launch.group_world_size > 1
                   ? blocks.take_at(launch.port, needed, name_of_gang(launch))
                   : blocks.take_from(launch.port, needed);
  if (!ports && launch.world_size == 1) ports = Ports{launch.port, {}};
  if (!ports) return fail(ports.error());
  return gangs.emplace(gang_of(launch.key), std::move(*ports)).first->second.first;
}

Result<WorkerOrder> LinuxHost::Impl::make_order(const WorkerLaunch& launch,
                                                const TakenDevices& taken) {
  const auto port = gang_port(launch);
  if (!port) return fail(port.error());
  const WallTime now = context.clock.wall();
  const auto offset = begin_log(options.directory, launch, now);
  if (!offset) return fail(offset.error());
  begun_logs.insert({launch.key.job, launch.key.number});
  begun_of_jobs[launch.key.job].bytes_max = launch.log_limit_bytes;
  begun_of_jobs[launch.key.job].stored[launch.key.number] = kLogEnd;
  WorkerFacts facts;
  facts.server_directory = options.directory;
  facts.marker = marks.marker(launch.key);
  facts.port = *port;
  facts.runtime = options.runtime;
  facts.slot_kind = taken.kind;
  facts.devices = taken.uuids;
  facts.visible_devices = taken.visible;
  facts.machine_has_gpus = devices.machine_has_gpus();
  facts.socket = socket_path(launch.key);
  WorkerOrder order;
  order.key = launch.key;
  order.uid = launch.uid;
  order.socket = facts.socket;
  order.status_port = status->port();
  order.status_token = random_name();
  offer_status(order, facts);
  write_hostfile(launch, facts);
  order.boot_id = context.boot_id;
  order.command = launch.launch.command;
  order.environment = build_environment(launch, facts);
  order.directory = launch.launch.directory;
  // The server's machine is where it was submitted.
  if (options.accounts != Accounts::as_told && launch.launch.shipped.ship.empty())
    order.witnesses = launch.launch.witnesses;
  order.umask = launch.launch.umask;
  order.groups = launch.launch.groups;
  order.shell = launch.launch.shell;
  if (launch.pty && launch.rank == 0)
    order.terminal = below("agent/terminals/" + claim_name(launch.key) + ".sock");
  order.setup = launch.launch.setup;
  order.runs_setup = launch.local_rank == 0 && !order.setup.empty();
  if (!order.setup.empty())
    order.setup_outcome =
        below(fmt::format("agent/setups/{}.{}", launch.key.job.value, launch.key.born.value));
  order.control = random_name();
  order.log = log_path(options.directory, launch.key.job, launch.key.number);
  order.log_offset = *offset;
  order.marker = facts.marker;
  order.cgroups = cgroups.plan(
      claim_name(launch.key),
      {launch.cpus, launch.memory_bytes, taken.denied_devices, options.worker_processes});
  order.limit = launch.limit;
  if (launch.lease) {
    order.lease_us = launch.lease->left.count();
    order.lease_signal = launch.lease->signal;
    order.lease_grace_us = launch.lease->grace.count();
  }
  order.started_us = to_us(now);
  // What travelled is as it was when it was submitted.
  if (launch.age > Duration::zero() && launch.launch.shipped.ship.empty())
    order.submitted_us = to_us(now - launch.age);
  order.attempt = launch.attempt;
  order.rank = launch.rank;
  order.world_size = launch.world_size;
  order.local_rank = launch.local_rank;
  order.slots = launch.slots;
  order.port = *port;
  order.log_limit_bytes = launch.log_limit_bytes;
  order.job_name = launch.job_name;
  order.checkpoint = launch.checkpoint;
  order.checkpoint_glob = launch.checkpoint_glob;
  return order;
}

void LinuxHost::Impl::tell_later(Observation seen) {
  boost::asio::post(io, [this, token = std::weak_ptr(alive), seen = std::move(seen)] {
    if (!token.expired()) context.tell(seen);
  });
}

Result<void> LinuxHost::Impl::raise_looker(UniqueFd socket) {
  nursery.raise_looker(std::move(socket));
  flush_nursery();
  return {};
}

void LinuxHost::Impl::flush_nursery() {
  if (!nursery.busy()) return;
  flush_timer.after(kFlushWait, [this] {
    nursery.flush();
    flush_nursery();
  });
}

// ---- devices ----

// What the owner, the groups above workers and the machine leave.
std::uint64_t LinuxHost::Impl::usable_memory() const {
  const auto physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  return std::min({physical, options.memory_bytes.value_or(physical),
                   cgroups.memory_bound().value_or(physical)});
}

// What a worker of whom nothing is known may hold.
std::vector<std::uint32_t> LinuxHost::Impl::all_slots() {
  if (slots.empty()) look_at_devices();
  std::vector<std::uint32_t> all(slots.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// A note about the workers whose claims were set aside, which may hold any slot; empty: there is none.
std::string LinuxHost::Impl::unwatched() const {
  const auto lives = [](const auto& each) { return !each.second->gone(); };
  const auto first = std::ranges::find_if(aside, lives);
  if (first == aside.end()) return {};
  const auto more = std::ranges::count_if(aside, lives) - 1;
  return fmt::format(
      "a worker of job {}{} runs here unwatched: its claim is damaged or was removed",
      first->first.job.value, more == 0 ? "" : fmt::format(" (and {} more)", more));
}

// True if something is not as it was described last.
bool LinuxHost::Impl::look_at_devices() {
  std::set<std::uint32_t> leased;
  for (const auto& [key, worker] : workers)
    if (!worker->is_gone())
      leased.insert(worker->order().slots.begin(), worker->order().slots.end());
  auto seen = devices.look(leased);
  const std::string note = unwatched();
  for (SlotSpec& slot : seen)
    if (slot.usable) slot.note = note;
  return std::exchange(slots, std::move(seen)) != slots;
}

void LinuxHost::Impl::watch_devices(std::chrono::seconds delay) {
  if (!devices.has_devices()) return;
  device_timer.after(delay, [this] {
    if (look_at_devices()) devices_changed();
    watch_devices(kDeviceInterval);
  });
}

// ---- the other actions ----

void LinuxHost::Impl::tell_lost(const ProcessKey& key, const std::string& why) {
  WorkerGone gone;
  gone.key = key;
  gone.cause = Cause::node_lost;
  gone.message = why;
  gone.at = context.clock.now();
  tell_later(gone);
}

// Where no worker of it is left here. False: one is.
bool LinuxHost::Impl::forget_gang(const ProcessKey& key) {
  const auto peer = workers.lower_bound(ProcessKey{key.job, key.born, 0});
  if (peer != workers.end() && gang_of(peer->first) == gang_of(key)) return false;
  gangs.erase(gang_of(key));
  return true;
}

// The file stays, under a name that is no claim's, for people to look at.
void LinuxHost::Impl::discard_aside(const ProcessKey& key) {
  if (!aside.at(key)->gone()) return;
  aside.erase(key);
  const std::string path = marks.aside_path(key);
  ::rename(path.c_str(), (path + ".over").c_str());
  if (forget_gang(key)) forget_memory(gang_of(key));
  devices_changed();  // the note about it is gone
}

void LinuxHost::Impl::discard(const ProcessKey& key) {
  if (aside.contains(key)) return discard_aside(key);
  const auto found = workers.find(key);
  if (found == workers.end() && forget_gang(key)) return forget_memory(gang_of(key));
  if (found == workers.end() || !found->second->is_gone()) return;
  std::vector<std::string> files{found->second->path()};
  std::ranges::copy(worker_files(found->second->order().socket), std::back_inserter(files));
  const std::string setup_outcome = found->second->order().setup_outcome;
  const std::string terminal = found->second->order().terminal;
  if (!terminal.empty()) files.push_back(terminal);
  found->second->forget_unstored();
  workers.erase(found);
  if (forget_gang(key)) {
    if (!setup_outcome.empty()) files.push_back(setup_outcome);
    forget_memory(gang_of(key));
  }
  remover.remove(std::move(files));
}

// One whose claim can't be read may still use it.
void LinuxHost::Impl::forget_memory(const GangKey& gang) {
  if (has_worker(gang, [](const SupervisedWorker&) { return true; })) return;
  segments.forget(gang);
  if (!memory.permitted()) return;
  memory.forget(gang);
  tidy_memory();
}

// What can't be moved or emptied now, for want of something, is tried again until nothing is left.
void LinuxHost::Impl::tidy_memory() {
  const auto known = memory.known();
  for (const GangKey& gang : known.value_or(std::vector<GangKey>{}))
    if (!has_worker(gang, [](const SupervisedWorker&) { return true; })) memory.forget(gang);
  auto left = memory.forgotten();
  if (known && left && left->empty()) return;
  if (left && !left->empty() && !emptying->exchange(true))
    chores.add([directories = std::move(*left), busy = emptying] {
      for (const std::string& directory : directories) remove_tree(directory);
      *busy = false;
    });
  tidy_timer.after(kTidyInterval, [this] { tidy_memory(); });
}

void LinuxHost::Impl::keep_ticking() {
  if (tick_timer.set() || workers.empty()) return;
  tick_timer.after(kTick, [this] {
    for (const auto& [key, worker] : std::map(workers)) worker->tick();
    look_at_segments();
    read_logs();
    hold_job_logs();
    keep_ticking();
  });
}

void LinuxHost::Impl::look_at_segments() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_segments) return;
  next_segments = now + kSegmentsInterval;
  segments.look();
}

// The logs take turns, piece by piece, so that one that grows fast or is full of reports can't hold
// up the others.
void LinuxHost::Impl::read_logs() {
  std::vector<std::shared_ptr<SupervisedWorker>> readers;
  readers.reserve(workers.size());
  const auto next = workers.upper_bound(read_last);
  for (auto it = next; it != workers.end(); ++it) readers.push_back(it->second);
  for (auto it = workers.begin(); it != next; ++it) readers.push_back(it->second);
  for (std::size_t bytes = 0; !readers.empty();) {
    std::vector<std::shared_ptr<SupervisedWorker>> more;
    for (auto& reader : readers) {
      if (bytes >= kTickBytes || !context.has_room_for_lines()) return;
      read_last = reader->order().key;
      const std::size_t read = reader->read_log();
      bytes += read;
      if (read > 0) more.push_back(std::move(reader));
    }
    readers = std::move(more);
  }
}

// Of a log in use only what nobody reads any more may go.
std::map<JobId, JobLogs> LinuxHost::Impl::take_job_logs() {
  auto jobs = std::exchange(begun_of_jobs, {});
  for (const auto& [key, worker] : workers) {
    if (worker->is_gone()) continue;
    JobLogs& logs = jobs[key.job];
    logs.bytes_max = worker->order().log_limit_bytes;
    logs.stored[key.number] = worker->log_stored();
    logs.stored[timeline_of(key.number)] = kLogEnd;
  }
  return jobs;
}

void LinuxHost::Impl::hold_job_logs() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_job_logs || held_logs->busy.exchange(true)) return;
  next_job_logs = now + kJobLogInterval;
  chores.add([held = held_logs, jobs = take_job_logs()] {
    held->of_jobs.hold(jobs);
    held->busy = false;
  });
}

// Where nothing ticks any more, the logs of what ended last are looked at here, too.
void LinuxHost::Impl::hold_logs() {
  if (!held_logs->busy.exchange(true)) {
    std::map<LogKey, std::uint64_t> in_use;
    for (const auto& [key, worker] : workers) {
      if (worker->is_gone()) continue;
      in_use[{key.job, key.number}] = worker->log_stored();
      in_use[{key.job, timeline_of(key.number)}] = kLogEnd;
    }
    chores.add([held = held_logs, in_use = std::move(in_use), begun = std::exchange(begun_logs, {}),
                jobs = take_job_logs()] {
      held->of_users.hold(in_use, begun);
      held->of_jobs.hold(jobs);
      held->busy = false;
    });
  }
  log_timer.after(kLogInterval, [this] { hold_logs(); });
}

// ---- the host ----

LinuxHost::LinuxHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LinuxHost::~LinuxHost() {
  impl_->leave_memory();
  for (const auto& [key, worker] : impl_->workers) worker->leave();
  for (const auto& [key, worker] : impl_->aside) worker->leave();
}

Result<std::unique_ptr<LinuxHost>> LinuxHost::open(boost::asio::io_context& io, Clock& clock,
                                                   HostOptions options) {
  check(options.directory.starts_with('/'), "a host's directory is absolute");
  if (auto made = make_own_directories(options.directory); !made) return fail(made.error());
  auto boot_id = read_boot_id();
  if (!boot_id) return fail(boot_id.error());
  auto impl = std::make_unique<Impl>(io, clock, std::move(options), std::move(*boot_id));
  if (auto opened = impl->open(); !opened) return fail(opened.error());
  return std::unique_ptr<LinuxHost>(new LinuxHost(std::move(impl)));
}

std::string LinuxHost::boot_id() { return impl_->context.boot_id; }

void LinuxHost::on_observation(std::function<void(Observation)> handler) {
  impl_->handler = std::move(handler);
}

void LinuxHost::hold_logs_of_others(const std::map<LogKey, std::uint64_t>& logs) {
  for (const auto& [log, bytes_max] : logs) {
    impl_->begun_logs.insert(log);
    JobLogs& job = impl_->begun_of_jobs[log.first];
    job.bytes_max = bytes_max;
    job.stored[log.second] = kLogEnd;
  }
  impl_->hold_job_logs();
}

std::vector<std::string> LinuxHost::not_enforced() const {
  auto sentences = impl_->cgroups.not_enforced();
  if (!impl_->memory.permitted())
    sentences.emplace_back(
        "Jobs share the machine's /dev/shm, and what they leave there stays, but for System V "
        "segments: only a server of root that may make mount namespaces gives each its own.");
  return sentences;
}

void LinuxHost::on_devices_changed(std::function<void()> handler) {
  impl_->devices_changed = std::move(handler);
}

void LinuxHost::reached_at(std::string address) {
  impl_->options.address = std::move(address);
  impl_->open_door();
}

NodeSpec LinuxHost::describe() {
  NodeSpec node;
  node.name = name_of_node(impl_->options);
  node.address = impl_->options.address;
  node.rack = impl_->options.rack;
  node.network_switch = impl_->options.network_switch;
  node.labels = impl_->options.labels;
  node.cpus = usable_cores();
  node.memory_bytes = impl_->usable_memory();
  impl_->look_at_devices();
  node.slots = impl_->slots;
  node.machine = impl_->machine;
  node.ports = usable_ports();
  node.only_user = impl_->accounts.only_user();
  node.strangers = impl_->accounts.strangers();
  node.refusal = impl_->health.refusal();
  node.lease = impl_->options.lease;
  node.reach_port = impl_->door.port();
  if (node.reach_port != 0) node.reach_nonce = impl_->door.nonce();
  node.keeps = static_cast<bool>(impl_->options.keep);
  return node;
}

std::vector<Claim> LinuxHost::claims() {
  impl_->load();
  std::vector<Claim> all;
  for (const auto& [key, worker] : impl_->workers) all.push_back(worker->claim());
  for (const auto& [key, worker] : impl_->aside)
    all.push_back({key, 0, worker->gone(), false, impl_->all_slots()});
  return all;
}

void LinuxHost::stored(const ProcessKey& key, std::uint64_t report) {
  if (auto* worker = impl_->find(key)) worker->stored(report);
}

void LinuxHost::perform(const Action& action) {
  impl_->load();
  if (!impl_->keep_for_later(action)) impl_->perform(action);
}

std::set<JobId> LinuxHost::jobs_with_directories() const { return impl_->directories.jobs(); }

void LinuxHost::remove_directory_of(JobId job) { impl_->directories.remove(job); }

void LinuxHost::Impl::perform(const Action& action) {
  Impl& impl = *this;
  struct Performer {
    Impl& impl;
    void operator()(const Start& a) const { impl.start(a.worker); }
    void operator()(const GiveNotice& a) const {
      if (auto* worker = impl.find(a.key)) worker->give_notice(a.signal);
      if (const auto found = impl.aside.find(a.key); found != impl.aside.end())
        found->second->give_notice();
    }
    void operator()(const Kill& a) const {
      impl.segments.look();  // while the processes that made some live
      if (auto* worker = impl.find(a.key))
        worker->kill();
      else if (const auto found = impl.aside.find(a.key); found != impl.aside.end())
        found->second->kill();
      else
        impl.tell_lost(a.key, "This node knows nothing of the worker.");
    }
    void operator()(const Freeze& a) const {
      if (auto* worker = impl.find(a.key)) worker->send({ControlCommand::Kind::freeze, 0});
    }
    void operator()(const Thaw& a) const {
      if (auto* worker = impl.find(a.key)) worker->send({ControlCommand::Kind::thaw, 0});
    }
    void operator()(const Discard& a) const { impl.discard(a.key); }
    void operator()(const SetLimit& a) const {
      if (auto* worker = impl.find(a.key)) worker->send({ControlCommand::Kind::limit, 0, a.limit});
    }
    void operator()(const RenewLeases& a) const {
      for (const auto& [key, worker] : impl.workers)
        worker->send({ControlCommand::Kind::lease, 0, {.left = a.lease}});
      impl.renew_waiting(a.lease);
    }
    void operator()(const SetMembership& a) const {
      if (auto* worker = impl.find(a.key)) worker->set_membership(a.membership, a.place);
    }
    void operator()(const Keep& a) const { impl.keep(a.checkpoint); }
    void operator()(const Dismiss& a) const {
      if (auto* worker = impl.find(a.key)) worker->dismiss(a.generation);
    }
    void operator()(const SetShouldStop& a) const {
      if (auto* worker = impl.find(a.key)) worker->set_should_stop(a.reason);
    }
  };
  std::visit(Performer{impl}, action);
}

}  // namespace paceline::agent
