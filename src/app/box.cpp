#include "app/box.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "agent/linux/files.hpp"
#include "api/api.hpp"
#include "api/ship_desk.hpp"
#include "app/account.hpp"
#include "app/background.hpp"
#include "app/checkpoint_sender.hpp"
#include "app/gang_address.hpp"
#include "app/gang_secrets.hpp"
#include "app/log_remover.hpp"
#include "app/machine.hpp"
#include "app/messages.hpp"
#include "app/nodes_bytes.hpp"
#include "app/own_measures.hpp"
#include "app/pilots.hpp"
#include "app/pump.hpp"
#include "app/remote_door.hpp"
#include "base/digest.hpp"
#include "clock/system/system_clock.hpp"
#include "engine/agents/agents_engine.hpp"
#include "files/own.hpp"
#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/tcp_socket.hpp"
#include "http/unix_dialer.hpp"
#include "joining/reception.hpp"
#include "link/agent_sessions.hpp"
#include "messages/server_log.hpp"
#include "policy/lua/lua_policy.hpp"
#include "scheduler/controller.hpp"
#include "ship/store.hpp"
#include "slurm/commands/slurm_commands.hpp"
#include "store/sqlite/dir_lock.hpp"
#include "store/sqlite/file_check.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

constexpr auto kPatience = std::chrono::milliseconds{2000};
constexpr std::string_view kSocket = "paceline.sock";
// Live, a script may not keep the server busy, however long its instructions take.
SandboxLimits limits_of_scripts(const Limits& set) {
  SandboxLimits limits;
  limits.time = std::chrono::seconds{set.script_time};
  limits.time_used = [] {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return Duration{std::int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000};
  };
  return limits;
}

// Given up for the journal once the disk is full; before that nothing new is accepted, and then
// nothing more started (agent/linux/host.cpp).
constexpr std::uint64_t kReserveBytes = 8U << 20;
constexpr agent::DiskSpace kRoomForSubmissions{16U << 20, 256};
constexpr std::size_t kMetricsConnections = 16;
constexpr auto kHearOut = std::chrono::seconds{5};

// Empty: there is none.
std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<JobId> with_processes(const State& state) {
  std::vector<JobId> jobs;
  for (const auto& key : state.active()) {
    if (state.job(key.job).current) jobs.push_back(key.job);
  }
  return jobs;
}

std::string listed(const std::vector<JobId>& jobs) {
  std::string text;
  for (const JobId id : jobs) text += fmt::format("{}{}", text.empty() ? "" : ", ", id.value);
  return text;
}

}  // namespace

struct Box::Impl {
  Impl(const UpOptions& o, Build b)
      : options(o), build(std::move(b)), signals(io, SIGINT, SIGTERM, SIGHUP) {}

  // Nothing is made or changed before what was asked for is known to be possible.
  Result<void> open() {
    if (options.patience) {
      auto patience = Patience::parse(*options.patience);
      if (!patience) return fail(patience.error());
      policies = policies.with(*patience);
    }
    if (options.policy) {
      if (auto known = policies.make(*options.policy, {}); !known) return fail(known.error());
    }
    if (options.placement) {
      if (auto known = make_placer(*options.placement); !known) return fail(known.error());
    }
    auto locked = DirLock::take(options.directory);
    if (!locked) return fail(locked.error());
    lock.emplace(std::move(*locked));
    SqliteStore::Options store_options;
    store_options.accept_older_journal = options.accept_older_journal;
    store_options.reserve_bytes = kReserveBytes;
    auto opened = SqliteStore::open(options.directory, store_options);
    if (!opened) return fail(opened.error());
    store = std::move(*opened);
    if (auto ok = open_controller(); !ok) return ok;
    if (auto ok = open_machine(); !ok) return ok;
    if (auto ok = follow_policy_option(); !ok) return ok;
    join();
    follow_journal();
    return listen();
  }

  // Damage that a start passes over, found while the server serves.
  void check_file() {
    file_check.emplace(database(), [this](const Finding& found) {
      boost::asio::post(io, [this, found] { take(found); });
    });
    file_reader.emplace([this] { return file_check->work(); });
    file_reader->wake();
  }

  void take(const Finding& found) {
    spdlog::error("{} {}", found.error.message, found.error.hint);
    damage = found.error.message;
    if (!found.safe_to_write) store->distrust(found.error);
  }

  [[nodiscard]] std::filesystem::path database() const {
    return std::filesystem::path(options.directory) / "paceline.db";
  }

  [[nodiscard]] std::string grades_file() const { return options.directory + "/expected"; }

  Result<void> open_controller() {
    AgentsEngine::Options engine_options;
    engine_options.ports_salt =
        Digest().add(std::uint64_t{::geteuid()}).add(std::string_view(options.directory)).value();
    engine_options.newest_report = [this](const ProcessKey& process) {
      return store->newest_report(process).value_or(0);
    };
    engine_options.has_copy = [this](std::uint32_t uid, const std::string& ship) {
      return !is_ship_lost(ships_directory(), uid, ship);
    };
    const auto launch_of = [this](JobId job) {
      auto launch = store->launch(job);
      if (launch && gang_secrets) gang_secrets->add(job, *launch);
      return launch;
    };
    engine.emplace(clock, launch_of, engine_options);
    Controller::Options controller_options;
    controller_options.build = build.text;
    controller_options.hear_out = kHearOut;
    if (options.policy) controller_options.policy = *options.policy;
    if (options.placement) controller_options.placement = *options.placement;
    controller_options.rules = {options.reclaim_after};
    controller_options.unsaid_rules = {kReclaimAfter};
    controller_options.limits = options.limits;
    controller_options.keep = options.keep;
    controller_options.journal_size = options.journal_size;
    log_remover.emplace(options.directory);
    controller_options.remove_logs = [this](JobId job) { return log_remover->remove(job); };
    controller_options.read_beside = [file = database()] {
      return SqliteStore::open_to_read(file).and_then([](auto read) { return read->load(); });
    };
    controller_options.read_grades = [this] { return text_of_file(grades_file()); };
    controller_options.keep_grades = [this](const std::string& text) {
      const auto kept = agent::replace_file(AT_FDCWD, grades_file().c_str(), text);
      if (!kept) spdlog::warn("{} Expected times are graded without it.", kept.error().message);
    };
    controller_options.room = [directory = options.directory]() -> Result<void> {
      auto room = agent::look_for_room(directory, kRoomForSubmissions);
      if (!room) room.error().hint = "Until then nothing new is accepted; what runs goes on.";
      return room;
    };
    controller_options.coming = [this] { return pilots ? pilots->coming() : ComingNodes{}; };
    controller.emplace(*store, *engine, clock, policies, controller_options);
    background.emplace([this] { return controller->shadow().work(); });
    controller->shadow().on_work([this] { background->wake(); });
    Foresight& foresight = controller->prospects().foresight();
    foresight.on_done([this] { boost::asio::post(io, [this] { pump.wake(); }); });
    foreseer.emplace([&foresight] { return foresight.work(); }, Yields::no);
    foresight.on_work([this] { foreseer->wake(); });
    if (auto ok = controller->recover(); !ok) return ok;
    open_server_log();
    if (auto ok = open_gang_secrets(); !ok) return ok;
    auto opened = Messages::open({.file = options.messages,
                                  .directory = options.directory,
                                  .limits = options.limits,
                                  .now = [this] { return clock.now(); }},
                                 *controller);
    if (!opened) return fail(opened.error());
    messages = std::move(*opened);
    return {};
  }

  // Before anything is started. Gangs of one machine get along without where OpenSSL is missing.
  Result<void> open_gang_secrets() {
    auto secrets = GangSecrets::open(options.directory, controller->state().next_job_id());
    if (!secrets && !options.listen && secrets.error().code == ErrorCode::unavailable) {
      spdlog::warn(
          "{} Gangs have no secrets: others on this machine can keep their ranks from meeting.",
          secrets.error().message);
      return {};
    }
    if (!secrets) return fail(std::move(secrets.error()));
    gang_secrets = std::move(*secrets);
    return {};
  }

  void open_server_log() {
    server_log.emplace(controller->state(), [](LogLevel level, const std::string& line) {
      spdlog::log(level == LogLevel::debug  ? spdlog::level::debug
                  : level == LogLevel::info ? spdlog::level::info
                                            : spdlog::level::warn,
                  line);
    });
  }

  // What is told of it beside the API.
  void follow_journal() {
    server_log->catch_up(clock.now());
    commits = controller->on_commit(
        [this](std::span<const Entry> entries, std::span<const JobId> touched) {
          server_log->take(entries, touched, clock.now());
        });
    pump.add([this](Time now) {
      server_log->step(now);
      return server_log->due();
    });
    pump.add([this](Time now) { return messages->step(now); });
  }

  Result<void> open_machine() {
    agent::HostOptions host_options;
    host_options.directory = options.directory;
    host_options.address = gang_address(options.advertise, options.listen);
    // What the server keeps lies on this machine already.
    host_options.ships = {
        ships_directory(),
        [](JobId, std::uint32_t, const std::string&,
           const std::function<void(Result<std::set<std::string>>)>& done) { done({}); }};
    host_options.keep = [this](WantedCheckpoint wanted) {
      if (sender) sender->send(std::move(wanted));
    };
    auto opened = Machine::open(io, clock, options, std::move(host_options));
    if (!opened) return fail(std::move(opened.error()));
    machine = std::move(*opened);
    return {};
  }

  // `--policy` names the policy of this directory from now on, also if it had another one.
  Result<void> follow_policy_option() {
    if (!options.policy || controller->state().policy()->name == *options.policy) return {};
    Result<void> outcome;
    controller->desk().set({*options.policy, {}}, {},
                           [&](Result<void> done) { outcome = std::move(done); });
    if (!outcome) return outcome;
    return controller->step();
  }

  // Joins both ends and waits until the agent has told what it has: from then on submissions can be
  // judged.
  void join() {
    AgentSessions::Options session_options{.version = build.version};
    session_options.keep_boot = [this](const std::string& node, const std::string& boot) {
      return door ? door->keep_boot(node, boot) : Result<void>{};
    };
    session_options.bytes = [this]() -> BytesDoor& { return nodes_bytes->door(); };
    sessions.emplace(io, clock, *engine, std::move(session_options));
    machine->start(pump);
    pump.add([this](Time) {
      sessions->pump();
      return std::optional<Time>();
    });
    pump.add([this](Time) {
      engine->step();
      return engine->next_due();
    });
    pump.add([this](Time began) {
      (void)controller->step();
      turns.add(to_seconds(clock.now() - began));
      return controller->next_due();
    });
    const auto wake = [this] { pump.wake(); };
    sessions->on_wake(wake);
    controller->on_wake(wake);
    sessions->open(machine->agent());
    node_name = machine->host().describe().name;
    const auto joined = [&] {
      const Node* node = controller->state().find_node(node_name);
      return engine->connected_nodes() > 0 && node != nullptr && !node->retired;
    };
    while (!joined()) io.run_one();
  }

  Result<void> listen() {
    const auto uid = static_cast<std::uint32_t>(::getuid());
    ApiOptions api_options;
    api_options.directory = options.directory;
    api_options.version = build.version;
    api_options.build = build.text;
    api_options.uid = uid;
    api_options.limits = options.limits;
    api_options.account = [accounts = std::make_shared<Accounts>()](std::uint32_t user) {
      return (*accounts)(user);
    };
    api_options.ready = [this] { return engine->connected_nodes() > 0; };
    api_options.leave = [this] { leave(); };
    api_options.damage = [this] { return damage; };
    api_options.may_notify = [this](const Notify& notify) { return messages->may_notify(notify); };
    api_options.messages = [this](JobId job) {
      const auto sums = messages->sums(job);
      return MessageSums{sums.waiting, sums.given_up, sums.problem};
    };
    api_options.measures = [this] { return measures(); };
    api_options.metrics_of_jobs = options.metrics_of_jobs;
    nodes_bytes.emplace(io, clock, *controller, machine->host(),
                        NodesBytes::Options{options.directory, node_name, ships_directory()});
    ships.emplace(io, *controller, ship_options());
    api_options.ships = &*ships;
    api_options.checkpoints =
        CheckpointAccess{node_name,
                         [this](std::string_view node, const ProcessKey& by, std::uint64_t report) {
                           return engine->wants(node, by, report);
                         },
                         [this](std::string_view node, const KeptCheckpoint& kept) {
                           return engine->take_kept(node, kept);
                         }};
    remove_directories();
    api_options.output = nodes_bytes->output();
    if (auto opened = open_door(api_options); !opened) return opened;
    api.emplace(*controller, std::move(api_options));
    ServerOptions server_options;
    server_options.admit = api->admission();
    server_options.keeper = api->keeper();
    server_options.connections_max = options.limits.connections;
    server_options.connections_per_user_max = options.limits.connections_per_user;
    server_options.traffic_bytes_max = options.limits.traffic;
    server_options.traffic_bytes_per_user_max = options.limits.traffic_per_user;
    if (auto made = make_socket_directory(); !made) return made;
    const auto remote_options = server_options;
    auto listener = listen_at_path(io, std::filesystem::path(options.socket_directory) / kSocket,
                                   uid == 0 ? SocketAccess::everyone : SocketAccess::owner);
    server.emplace(io, std::move(listener), api->router(), std::move(server_options));
    if (auto serving = server->start(); !serving) return serving;
    sender.emplace(CheckpointSender::Options{
        .server = [path = (std::filesystem::path(options.socket_directory) / kSocket).string()](
                      std::function<int()> interrupted) {
          return ServerAddress{std::make_shared<UnixDialer>(path), std::move(interrupted)};
        }});
    if (door) {
      if (auto serving = door->serve(api->router(), remote_options); !serving) return serving;
    }
    return serve_metrics();
  }

  [[nodiscard]] std::string ships_directory() const { return options.directory + "/ships"; }

  [[nodiscard]] ShipStore::Options ship_options() const {
    return {.directory = ships_directory(),
            .bytes_per_user_max = options.limits.ships_per_user,
            .bytes_max = options.limits.ships,
            .in_use = {},
            .room = [directory = options.directory](std::uint64_t bytes) {
              return agent::look_for_room(
                  directory, {bytes + kRoomForSubmissions.bytes, kRoomForSubmissions.inodes});
            }};
  }

  // Those that travelled here with jobs that are over by now, or unknown.
  void remove_directories() {
    for (const JobId job : machine->host().jobs_with_directories()) {
      const Job* found = controller->state().find_job(job);
      if (found == nullptr || is_over(found->state)) machine->host().remove_directory_of(job);
    }
    directory_ends =
        controller->on_commit([this](std::span<const Entry>, std::span<const JobId> touched) {
          for (const JobId job : touched)
            if (is_over(controller->state().job(job).state))
              machine->host().remove_directory_of(job);
        });
  }

  // For people and machines elsewhere.
  Result<void> open_door(ApiOptions& api_options) {
    if (!options.listen) return {};
    auto opened = RemoteDoor::open(io, clock, {*options.listen, options.directory, {node_name}});
    if (!opened) return fail(std::move(opened.error()));
    door = std::move(*opened);
    api_options.remote = door->access(&*sessions);
    api_options.remote->count_off = [this](std::string_view node, std::string_view by) {
      return engine->count_off(node, by);
    };
    Reception({.book = *api_options.remote->nodes, .count_off = api_options.remote->count_off})
        .recall([this](std::string_view node) { controller->node_left(node); });
    return open_pilots(api_options);
  }

  // Nodes that Slurm brings.
  Result<void> open_pilots(ApiOptions& api_options) {
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    auto opened = Pilots::open(io, clock, *controller, std::make_unique<SlurmCommands>(),
                               {.directory = options.directory,
                                .program = program.string(),
                                .uid = api_options.uid,
                                .remote = *api_options.remote});
    if (!opened) return fail(std::move(opened.error()));
    pilots = std::move(*opened);
    api_options.slurm = pilots.get();
    return {};
  }

  // To Prometheus, which speaks no unix sockets.
  Result<void> serve_metrics() {
    if (!options.metrics) return {};
    auto socket = listen_tcp(*options.metrics);
    if (!socket) return fail(socket.error());
    metrics_at = tcp_address_of(socket->get());
    ServerOptions server_options;
    server_options.when_full = WhenFull::replace;
    server_options.connections_max = kMetricsConnections;
    metrics_server.emplace(io, listen_on(io, std::move(*socket)), api->metrics_router(),
                           std::move(server_options));
    return metrics_server->start();
  }

  [[nodiscard]] Measures measures() const {
    Measures measures = measure_own(options.directory);
    measures.turns = turns;
    measures.segment_bytes = store->segments().bytes();
    return measures;
  }

  // A client that knows only the server's directory is led on.
  Result<void> make_socket_directory() const {
    if (options.socket_directory == options.directory) return {};
    if (auto made = make_own_directory(options.socket_directory, 0755); !made) return made;
    const auto known = std::filesystem::path(options.directory) / kSocket;
    const auto socket = std::filesystem::path(options.socket_directory) / kSocket;
    std::error_code ec;
    if (std::filesystem::read_symlink(known, ec) == socket) return {};
    std::filesystem::remove(known, ec);
    std::filesystem::create_symlink(socket, known, ec);
    if (!ec) return {};
    return fail(ErrorCode::storage,
                fmt::format("'{}' can't be made: {}.", known.string(), ec.message()));
  }

  void run() {
    leave_on_signal();
    check_file();
    io.run();
    file_check->stop();
    if (auto saved = controller->checkpoint(); !saved)
      spdlog::error("{} {}", saved.error().message, saved.error().hint);
  }

  // The first signal lets running requests be answered; the second one waits for nothing.
  void leave_on_signal() {
    signals.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      if (leaving) return io.stop();
      leave();
      leave_on_signal();
    });
  }

  void leave() {
    if (std::exchange(leaving, true)) return;
    metrics_server.reset();
    if (door) {
      ++open_doors;
      door->stop(kPatience, [this] { closed_a_door(); });
    }
    server->stop(kPatience, [this] { closed_a_door(); });
  }

  void closed_a_door() {
    if (--open_doors == 0) io.stop();
  }

  UpOptions options;
  Build build;
  boost::asio::io_context io{1};
  boost::asio::signal_set signals;
  SystemClock clock;
  LuaEngine scripts{limits_of_scripts(options.limits)};
  PolicyRegistry policies{&scripts};
  std::optional<DirLock> lock;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<Machine> machine;
  std::string node_name;                    // this machine's, once it has joined
  std::optional<GangSecrets> gang_secrets;  // none: there is no OpenSSL
  std::optional<AgentsEngine> engine;
  std::optional<Controller> controller;
  std::unique_ptr<Messages> messages;
  std::optional<ServerLog> server_log;
  std::shared_ptr<void> commits, directory_ends;  // are listened to
  Pump pump{io, clock};
  std::optional<AgentSessions> sessions;
  std::optional<ShipDesk> ships;
  std::optional<NodesBytes> nodes_bytes;  // is there before another machine can dial
  std::unique_ptr<RemoteDoor> door;       // none: no other machines are served
  std::unique_ptr<Pilots> pilots;         // none: the same
  std::optional<HttpApi> api;
  std::optional<HttpServer> server, metrics_server;
  std::optional<CheckpointSender> sender;  // of this machine's
  int open_doors = 1;  // the unix socket's server, and the door, that are not closed yet
  TcpAddress metrics_at;
  TurnTimes turns{kTurnBounds};
  bool leaving = false;
  std::string damage;  // what was found, in a sentence
  std::optional<FileCheck> file_check;
  std::optional<LogRemover> log_remover;
  std::optional<Background> background, foreseer, file_reader;  // end before what they work on
};

Box::Box(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Box::~Box() = default;

Result<std::unique_ptr<Resident>> Box::open(const UpOptions& options, const Build& build) {
  auto impl = std::make_unique<Impl>(options, build);
  if (auto ok = impl->open(); !ok) return fail(ok.error());
  return std::unique_ptr<Resident>(new Box(std::move(impl)));
}

void Box::run() { impl_->run(); }

std::string Box::greeting() const {
  const State& state = impl_->controller->state();
  const Node& node = *state.find_node(impl_->node_name);
  std::string text = fmt::format("Paceline {}: {} has {}\n", impl_->build.version, node.spec.name,
                                 describe_slots(node.spec));
  text += impl_->machine->notes();
  const auto adopted = with_processes(state);
  text += fmt::format("  directory {}, policy {}, {} known{}\n", impl_->options.directory,
                      state.policy()->name, count(state.jobs().given(), "job"),
                      adopted.empty()       ? ""
                      : adopted.size() == 1 ? fmt::format("; job {} goes on", listed(adopted))
                                            : fmt::format("; jobs {} go on", listed(adopted)));
  if (impl_->door)
    text += fmt::format("  other machines: paceline login {}      ('paceline token create')\n",
                        impl_->door->address());
  if (impl_->metrics_server)
    text += fmt::format("  metrics: http://{}/metrics\n", to_string(impl_->metrics_at));
  text += "  next: paceline run -- python3 train.py      (in another terminal)\n";
  return text;
}

std::string Box::farewell() const {
  const auto left = with_processes(impl_->controller->state());
  if (left.empty()) return "paceline: nothing runs; goodbye.\n";
  return fmt::format("paceline: {} {} on under {} supervisors. 'paceline up' takes {} up again.\n",
                     count(left.size(), "training"), left.size() == 1 ? "goes" : "go",
                     left.size() == 1 ? "its" : "their", left.size() == 1 ? "it" : "them");
}

}  // namespace paceline
