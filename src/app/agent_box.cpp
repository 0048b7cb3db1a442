#include "app/agent_box.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "agent/linux/footprint.hpp"
#include "app/agent_lock.hpp"
#include "app/bytes_of_node.hpp"
#include "app/checkpoint_sender.hpp"
#include "app/joined_server.hpp"
#include "app/machine.hpp"
#include "app/pump.hpp"
#include "clock/system/system_clock.hpp"
#include "http/tcp_socket.hpp"
#include "link/ship_fetcher.hpp"
#include "link/uplink.hpp"
#include "loop/errand.hpp"
#include "loop/timer.hpp"

namespace paceline {
namespace {

constexpr auto kLookAtIdentityEvery = std::chrono::hours{1};
constexpr auto kStartIsOver = std::chrono::seconds{2};
// A batch system signals all processes of a job one after the other, workers perhaps before their agent:
// until it has signalled the agent, too, nobody is told how they took it.
constexpr std::chrono::milliseconds kHoldsNothing{0}, kGuestHolds{500};

std::uint64_t chance() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

struct AgentBox::Impl {
  Impl(const AgentOptions& o, Build b) : options(o), build(std::move(b)), signals(io) {
    // A guest's parent ends it with its workers. One signal may reach all of them at once, and then
    // their ends are to be told by nobody.
    if (!options.guest)
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals.add(signal);
  }

  Result<void> open() {
    auto taken = AgentLock::take(options.directory);
    if (!taken) return fail(std::move(taken.error()));
    lock.emplace(std::move(*taken));
    const auto name = find_name();
    if (!name) return fail(name.error());
    if (auto ok = open_machine(*name); !ok) return ok;
    if (auto ok = join(*name); !ok) return ok;
    machine->start(pump);
    dial();
    watch_identity();
    start.after(kStartIsOver, agent::forget_start_code);
    return {};
  }

  // As it is asked for, else as it joined, else as the machine calls itself.
  Result<std::string> find_name() const {
    if (!options.node.empty()) return options.node;
    const auto kept = JoinedServer::kept(options.directory);
    if (!kept) return fail(kept.error());
    return *kept ? (*kept)->name.node : host_name();
  }

  Result<void> open_machine(const std::string& name) {
    agent::HostOptions host_options;
    host_options.directory = options.directory;
    host_options.node_name = name;
    host_options.lease = options.lease;
    host_options.accounts =
        options.serve_root ? agent::Accounts::by_name_and_root : agent::Accounts::by_name;
    // A batch system says which devices it lends. Where it lends none, there are CPU slots.
    const char* lent = std::getenv("CUDA_VISIBLE_DEVICES");
    if (options.guest && lent != nullptr && *lent != '\0') host_options.lent_gpus = lent;
    if (options.advertise) host_options.address = *options.advertise;
    const std::string store = options.directory + "/agent/ships";
    ships = std::make_shared<ShipFetcher>(
        ShipFetcher::Options{.store = {.directory = store,
                                       .bytes_per_user_max = options.limits.ships_per_user,
                                       .bytes_max = options.limits.ships}});
    host_options.ships = {store,
                          [fetcher = ships](JobId job, std::uint32_t uid, const std::string& ship,
                                            ShipFetcher::Done done) {
                            fetcher->fetch({job, uid, ship}, std::move(done));
                          }};
    host_options.keep = [this](WantedCheckpoint wanted) {
      if (sender) sender->send(std::move(wanted));
    };
    auto opened = Machine::open(io, clock, options, std::move(host_options));
    if (!opened) return fail(std::move(opened.error()));
    machine = std::move(*opened);
    remove_strays();
    return {};
  }

  // Directories of jobs of which nothing ever ran here: nobody will tell of their end (bytes_of_node.cpp).
  void remove_strays() {
    std::error_code error;
    for (const JobId job : machine->host().jobs_with_directories())
      if (!std::filesystem::exists(fmt::format("{}/logs/{}", options.directory, job.value), error))
        machine->host().remove_directory_of(job);
  }

  Result<void> join(const std::string& name) {
    auto taken = JoinedServer::take({.directory = options.directory,
                                     .join = options.join,
                                     .token = options.token,
                                     .node = name,
                                     .machine = machine->host().describe().machine,
                                     .version = build.version},
                                    clock.wall());
    if (!taken) return fail(std::move(taken.error()));
    joined.emplace(std::move(*taken));
    if (auto flaw = joined->flaw(clock.wall())) return fail(std::move(*flaw));
    return {};
  }

  void dial() {
    sender.emplace(CheckpointSender::Options{.server = [this](std::function<int()> interrupted) {
      const std::lock_guard held(identity);
      return joined->server(std::move(interrupted));
    }});
    uplink.emplace(io, machine->agent(),
                   Uplink::Options{.server =
                                       [this](std::function<int()> interrupted) {
                                         return joined->server(std::move(interrupted));
                                       },
                                   .on_connected =
                                       [this](const std::string& address) {
                                         if (!options.advertise)
                                           machine->host().reached_at(address);
                                       },
                                   .seed = chance(),
                                   .hold = options.guest ? kGuestHolds : kHoldsNothing});
    uplink->start();
    bytes.emplace(uplink_options({.directory = options.directory,
                                  .machine = machine->host().describe().machine,
                                  .over =
                                      [this](JobId job) {
                                        boost::asio::post(io, [this, job] {
                                          machine->host().remove_directory_of(job);
                                        });
                                      },
                                  .ships = ships,
                                  .server =
                                      [this](std::function<int()> interrupted) {
                                        const std::lock_guard held(identity);
                                        return joined->server(std::move(interrupted));
                                      }},
                                 clock));
  }

  void watch_identity() {
    if (joined->wants_another(clock.wall()) && !renewal.busy()) renew();
    look.after(kLookAtIdentityEvery, [this] { watch_identity(); });
  }

  void renew() {
    renewal.run([now = clock.wall(), known = *joined,
                 interrupted = renewal.interrupted()] { return known.renew(interrupted, now); },
                [this](Result<Identity> renewed) { take(std::move(renewed)); });
  }

  void take(Result<Identity> renewed) {
    if (renewed) {
      spdlog::info("The identity of node {} was renewed: it holds until {}.", joined->node(),
                   utc_text(renewed->validity.until));
      const std::lock_guard held(identity);
      return joined->take_over(std::move(*renewed));
    }
    const Error error = joined->flaw(clock.wall()).value_or(renewed.error());
    spdlog::warn("The identity of node {} can't be renewed now: {} {}", joined->node(),
                 error.message, error.hint);
  }

  void run() {
    signals.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) io.stop();
    });
    io.run();
    sender.reset();
    bytes.reset();
    uplink.reset();
  }

  AgentOptions options;
  Build build;
  boost::asio::io_context io{1};
  boost::asio::signal_set signals;
  SystemClock clock;
  std::optional<AgentLock> lock;
  Pump pump{io, clock};
  std::shared_ptr<ShipFetcher> ships;
  std::unique_ptr<Machine> machine;
  std::optional<JoinedServer> joined;
  Timer look{io}, start{io};
  Errand renewal{io};
  std::optional<Uplink> uplink;
  std::mutex identity;  // of `joined`, where it is changed and where other threads read it
  std::optional<BytesUplink> bytes;
  std::optional<CheckpointSender> sender;
};

AgentBox::AgentBox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentBox::~AgentBox() = default;

Result<std::unique_ptr<Resident>> AgentBox::open(const AgentOptions& options, const Build& build) {
  auto impl = std::make_unique<Impl>(options, build);
  if (auto ok = impl->open(); !ok) return fail(std::move(ok.error()));
  return std::unique_ptr<Resident>(new AgentBox(std::move(impl)));
}

void AgentBox::run() { impl_->run(); }

std::string AgentBox::greeting() const {
  const auto adopted = impl_->machine->agent().claims();
  std::string text = fmt::format(
      "Paceline {}: {} lends {} to {}\n", impl_->build.version, impl_->joined->node(),
      describe_slots(impl_->machine->host().describe()), to_string(impl_->joined->at()));
  text += impl_->machine->notes();
  text += fmt::format("  directory {}{}\n", impl_->options.directory,
                      adopted == 0 ? "" : fmt::format("; takes up {}", count(adopted, "worker")));
  text += "  next: paceline nodes      (at the server)\n";
  return text;
}

std::string AgentBox::farewell() const {
  const auto left = impl_->machine->agent().claims();
  if (left == 0) return "paceline: nothing runs here; goodbye.\n";
  return fmt::format(
      "paceline: {} {} on under {} supervisors. 'paceline agent' takes {} up again.\n",
      count(left, "worker"), left == 1 ? "goes" : "go", left == 1 ? "its" : "their",
      left == 1 ? "it" : "them");
}

}  // namespace paceline
