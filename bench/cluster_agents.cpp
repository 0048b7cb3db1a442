// Many agents in one process, over the network to a real server: each joins with an identity of its
// own, dials by TLS from an address of its own, and keeps both connections that a node has. All of it
// is the product's, but for the machine: workers are played, and run as soon as they are started.
//
//   echo plj_… | cluster_agents HOST:PORT DIR NODES SLOTS
//
// Says on standard output, as a line of JSON each, what has happened by which instant of
// CLOCK_MONOTONIC, and ends when its standard input does. First {"joined": NODES}, then, whenever the
// last of them is connected, {"connected": NODES}.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "agent/agent.hpp"
#include "app/bytes_of_node.hpp"
#include "app/joined_server.hpp"
#include "app/log.hpp"
#include "app/pump.hpp"
#include "base/number.hpp"
#include "cli/client/contexts.hpp"
#include "clock/system/system_clock.hpp"
#include "files/random_name.hpp"
#include "http/tls_dialer.hpp"
#include "link/bytes_uplink.hpp"
#include "link/uplink.hpp"

namespace {

using namespace paceline;

constexpr const char* kVersion = PACELINE_VERSION;
constexpr auto kLookAtLogs = std::chrono::seconds{5};  // there are none

struct Asked {
  TcpAddress server;
  std::filesystem::path directory;
  std::size_t nodes = 0;
  std::size_t slots = 0;
};

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "cluster_agents: " << why << "\n";
  std::exit(1);
}

template <class T>
T or_give_up(Result<T> result) {
  if (!result) give_up(result.error().message + " " + result.error().hint);
  return std::move(*result);
}

void tell(std::string_view what, std::size_t count) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto at = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  std::cout << fmt::format("{{\"{}\": {}, \"at\": {:.6f}}}\n", what, count, at) << std::flush;
}

void raise_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Of the number's own: "127.1.0.0", "10.1.0.0".
std::string address_of(int network, std::size_t number) {
  return fmt::format("{}.1.{}.{}", network, number / 256, number % 256);
}

// A machine that starts what it is asked to, and ends it as soon as it is noticed or killed.
class PlayedHost final : public agent::Host {
 public:
  PlayedHost(Clock& clock, NodeSpec spec) : clock_(clock), spec_(std::move(spec)) {}

  NodeSpec describe() override { return spec_; }
  std::string boot_id() override { return boot_; }
  std::vector<Claim> claims() override {
    std::vector<Claim> all;
    for (const auto& [key, claim] : claims_) all.push_back(claim);
    return all;
  }
  void perform(const agent::Action& action) override {
    std::visit([this](const auto& asked) { on(asked); }, action);
  }
  void stored(const ProcessKey& /*key*/, std::uint64_t /*report*/) override {}
  void on_observation(std::function<void(agent::Observation)> handler) override {
    observed_ = std::move(handler);
  }

 private:
  void on(const agent::Start& start) {
    const auto& key = start.worker.key;
    const auto [claim, is_new] =
        claims_.try_emplace(key, Claim{key, ++pids_, {}, false, start.worker.slots});
    if (is_new) observed_(WorkerRuns{key, claim->second.pid});
  }
  void on(const agent::GiveNotice& notice) { end(notice.key, 15); }
  void on(const agent::Kill& kill) { end(kill.key, 9); }
  void on(const agent::Discard& discard) { claims_.erase(discard.key); }
  template <class Other>
  void on(const Other& /*asked*/) {}

  void end(const ProcessKey& key, std::int32_t signal) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end())
      return observed_(WorkerGone{key, Cause::node_lost, {}, 0, "", clock_.now()});
    auto& gone = claim->second.gone;
    if (gone) return;
    gone = WorkerGone{key, Cause::signalled, {}, signal, "", clock_.now()};
    observed_(*gone);
  }

  Clock& clock_;
  NodeSpec spec_;
  std::string boot_ = random_name();
  std::map<ProcessKey, Claim> claims_;
  std::int64_t pids_ = 0;
  std::function<void(agent::Observation)> observed_;
};

// ---- joining ----

struct Member {
  std::string name, machine, directory;
  Identity identity = {};
};

Identity join(const Asked& asked, const Token& token, const Member& member, WallTime now) {
  or_give_up(JoinedServer::take({.directory = member.directory,
                                 .join = asked.server,
                                 .token = token,
                                 .node = member.name,
                                 .machine = member.machine,
                                 .version = kVersion},
                                now));
  return *or_give_up(JoinedServer::kept(member.directory));
}

std::vector<Member> join_all(const Asked& asked, const Token& token, WallTime now) {
  std::vector<Member> members(asked.nodes);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < members.size(); i = next++) {
      const auto name = fmt::format("node-{:04}", i);
      members[i] = {name, random_name(), asked.directory / name};
      members[i].identity = join(asked, token, members[i], now);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  threads.clear();
  return members;
}

// ---- a node ----

NodeSpec spec_of(const Asked& asked, const Member& member, std::size_t number) {
  NodeSpec spec;
  spec.name = member.name;
  spec.address = address_of(10, number);
  spec.cpus = static_cast<double>(asked.slots);
  spec.memory_bytes = std::uint64_t{64} << 30;
  spec.slots.assign(asked.slots, SlotSpec{SlotKind::cpu, "cpu", "", 0, true, "", 0, 0});
  spec.machine = member.machine;
  spec.lease = kUsualLease;
  return spec;
}

class PlayedNode {
 public:
  PlayedNode(boost::asio::io_context& io, Clock& clock, const Asked& asked, const Member& member,
             std::size_t number, std::function<void()> connected)
      : host_(clock, spec_of(asked, member, number)),
        agent_(host_),
        pump_(io, clock),
        uplink_(io, agent_,
                {.server = way_to(asked, member, number),
                 .on_connected = [told = std::move(connected)](const auto&) { told(); },
                 .seed = number}) {
    pump_.add([this](Time now) {
      agent_.step(now);
      return agent_.next_due();
    });
    agent_.on_wake([this] { pump_.wake(); });
    agent_.start();
    auto options = uplink_options({.directory = member.directory,
                                   .machine = member.machine,
                                   .server = way_to(asked, member, number)},
                                  clock);
    options.look = kLookAtLogs;
    bytes_.emplace(std::move(options));
    uplink_.start();
  }

  [[nodiscard]] bool is_connected() const { return uplink_.status().connected.has_value(); }

 private:
  using Way = std::function<ServerAddress(std::function<int()> interrupted)>;

  // From an address of its own, as from a machine of its own.
  static Way way_to(const Asked& asked, const Member& member, std::size_t number) {
    const TlsDialerOptions options{.host = asked.server.host,
                                   .port = asked.server.port,
                                   .from = address_of(127, number),
                                   .authority = member.identity.authority,
                                   .shown = member.identity.credentials};
    return [options](std::function<int()> interrupted) {
      auto way = options;
      way.interrupted = interrupted;
      return ServerAddress{.dialer = std::make_shared<TlsDialer>(std::move(way)),
                           .interrupted = std::move(interrupted),
                           .version = kVersion};
    };
  }

  PlayedHost host_;
  agent::Agent agent_;
  Pump pump_;
  Uplink uplink_;
  std::optional<BytesUplink> bytes_;
};

class Cluster {
 public:
  Cluster(boost::asio::io_context& io, Clock& clock, const Asked& asked,
          const std::vector<Member>& members) {
    for (std::size_t i = 0; i < members.size(); ++i)
      nodes_.push_back(std::make_unique<PlayedNode>(io, clock, asked, members[i], i,
                                                    [this] { look_whether_all_are(); }));
  }

 private:
  void look_whether_all_are() {
    if (std::ranges::all_of(nodes_, [](const auto& node) { return node->is_connected(); }))
      tell("connected", nodes_.size());
  }

  std::vector<std::unique_ptr<PlayedNode>> nodes_;
};

// ---- the process ----

Asked read_arguments(int argc, char** argv) {
  const std::string usage = "takes HOST:PORT DIR NODES SLOTS, and a join token as its first line";
  if (argc != 5) give_up(usage);
  const auto nodes = parse_number<std::size_t>(argv[3]);
  const auto slots = parse_number<std::size_t>(argv[4]);
  if (!nodes || !slots) give_up(usage);
  return {or_give_up(parse_server_address(argv[1])), argv[2], *nodes, *slots};
}

Token read_token() {
  std::string line;
  std::getline(std::cin, line);
  return or_give_up(Token::parse(line, TokenKind::join));
}

}  // namespace

int main(int argc, char** argv) {
  log_to_stderr("err");
  raise_open_files();
  const auto asked = read_arguments(argc, argv);
  const auto token = read_token();
  SystemClock clock;
  const auto members = join_all(asked, token, clock.wall());
  tell("joined", members.size());

  boost::asio::io_context io{1};
  boost::asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
  input.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [&](const auto&) { io.stop(); });
  const Cluster cluster(io, clock, asked, members);
  io.run();
  std::_Exit(0);  // as a cluster whose power fails: nobody waits for a thousand threads
}
