// For tests: a whole control plane behind a real socket, with a store in memory and an engine whose
// workers start at once and end when told.
#pragma once

#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/api.hpp"
#include "api/local_output.hpp"
#include "api/ship_desk.hpp"
#include "api/testing.hpp"
#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
#include "http/server.hpp"
#include "http/socket_listener.hpp"
#include "http/testing.hpp"
#include "policy/lua/lua_policy.hpp"
#include "scheduler/controller.hpp"
#include "store/memory/memory_store.hpp"
#include "wire/json.hpp"

namespace paceline {

class InstantEngine final : public testing::ObedientEngine {
 public:
  explicit InstantEngine(std::size_t slots) {
    NodeSpec node;
    node.name = "box";
    node.address = "127.0.0.1";
    node.cpus = 4;
    node.slots.resize(slots);
    tell(NodeUp{NodeId{0}, node});
  }

  void progress(JobId job, std::uint64_t step, double loss, Time at) {
    Progress report;
    report.step = step;
    report.metrics["loss"] = loss;
    report.reported_at = at;
    tell(Progressed{job, Generation{1}, report});
  }
  void end(ProcessKey worker, int exit_code, Time at) {
    tell(WorkerEnded{worker, {Cause::exited, exit_code, 0, {}, at}});
  }
};

class World {
 public:
  using Identify = std::function<Result<Principal>(const HttpRequest&)>;

  explicit World(std::uint32_t server_uid = ::getuid(), std::size_t slots = 4,
                 Identify identify = {}, std::optional<Limits> limits = {},
                 std::optional<Duration> keep = {}, std::optional<RemoteAccess> remote = {},
                 std::optional<CheckpointAccess> checkpoints = {}, LoginService logins = {})
      : engine(slots) {
    loop.on([&] {
      Controller::Options controller_options;
      controller_options.limits = limits;
      controller_options.keep = keep;
      controller_options.coalesce = {};
      controller.emplace(store, engine, clock, policies, controller_options);
      controller->on_wake([this] { drive(); });
      controller->prospects().foresight().on_work([this] { drive(); });
      EXPECT_TRUE(controller->recover().has_value());
      EXPECT_TRUE(controller->step().has_value());
      ships.emplace(loop.io(), *controller, ships_in(folder.path()));
      ApiOptions options{.directory = folder.path(), .version = "1", .uid = server_uid};
      if (limits) options.limits = *limits;
      options.leave = [this] { left.set_value(); };
      options.may_notify = [](const Notify&) { return Result<void>(); };
      options.identify = std::move(identify);
      options.remote = std::move(remote);
      options.logins = std::move(logins);
      options.ships = &*ships;
      options.checkpoints = std::move(checkpoints);
      options.output = std::make_shared<LocalOutput>(loop.io(), folder.path());
      api.emplace(*controller, options);
      const ServerOptions server_options{.admit = api->admission()};
      server.emplace(loop.io(), listen_at_path(loop.io(), socket(), SocketAccess::owner),
                     api->router(), server_options);
      EXPECT_TRUE(server->start().has_value());
    });
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    loop.on([&] {
      server.reset();
      api.reset();
      ships.reset();
      closing_ = true;
    });
  }

  [[nodiscard]] std::filesystem::path socket() const { return folder.path() / "paceline.sock"; }

  // As after a restart, with this bound.
  void open_ships(std::uint64_t bytes_per_user_max) {
    loop.on([&] {
      auto options = ships_in(folder.path());
      options.bytes_per_user_max = bytes_per_user_max;
      ships.emplace(loop.io(), *controller, std::move(options));
    });
  }

  // Appends to a log, or a timeline, as a worker would.
  void log(int job, int number, std::string_view text) const {
    const auto directory = folder.path() / "logs" / std::to_string(job);
    std::filesystem::create_directories(directory);
    std::ofstream(directory / log_name(number), std::ios::app) << text;
  }
  void end_worker(std::uint32_t job, int exit_code, std::int32_t rank = 0) {
    loop.on([&] {
      const auto generation = controller->state().job(JobId{job}).last_generation;
      engine.end({JobId{job}, generation, rank}, exit_code, clock.now());
    });
  }
  // What a route answers user `uid` at once, and what a later step answers.
  HttpResponse ask_now(std::uint32_t uid, std::string_view method, std::string_view target,
                       std::string body = {}) {
    return loop.on([&] {
      return ask(api->router(), uid, method, target, std::move(body))->response().value();
    });
  }
  HttpResponse ask_later(std::uint32_t uid, std::string_view method, std::string_view target,
                         std::string body = {}) {
    const auto exchange =
        loop.on([&] { return ask(api->router(), uid, method, target, std::move(body)); });
    for (;;) {
      const auto response = loop.on([&] { return exchange->response(); });
      if (response) return *response;
    }
  }
  // What whoever has the token is answered, from another machine.
  HttpResponse ask_from_elsewhere(std::string_view token, std::string_view method,
                                  std::string_view target, std::string body = {}) {
    const auto exchange = loop.on([&] {
      return ask(api->router(), Peer{.origin = "10.0.0.9"}, method, target, std::move(body), token);
    });
    for (;;) {
      const auto response = loop.on([&] { return exchange->response(); });
      if (response) return *response;
    }
  }
  void advance(Duration span) {
    loop.on([&] {
      clock.advance(span);
      drive();
    });
  }

  TempFolder folder;
  LoopThread loop;
  MemoryStore store;
  InstantEngine engine;
  ManualClock clock{time_from_us(1'763'636'100'000'000)};
  LuaEngine scripts;
  PolicyRegistry policies{&scripts};
  std::optional<Controller> controller;
  std::optional<ShipDesk> ships;
  std::optional<HttpApi> api;
  std::optional<HttpServer> server;
  std::promise<void> left;

 private:
  static ShipStore::Options ships_in(const std::filesystem::path& folder) {
    return {.directory = folder / "ships"};
  }

  // One step after the other until nothing is due; new commands wake it again.
  void drive() {
    if (std::exchange(driving_, true)) return;
    boost::asio::post(loop.io(), [this] {
      driving_ = false;
      if (closing_) return;
      controller->prospects().foresight().work();
      (void)controller->step();
      const auto due = controller->next_due();
      if (due && *due <= clock.now()) drive();
    });
  }

  bool driving_ = false;
  bool closing_ = false;
};

// The body of a submission of `true`, with more keys for the spec.
inline std::string submission(std::string_view spec = "{}") {
  return fmt::format(
      R"({{"spec": {}, "launch": {{"command": ["python3", "a b.py"], "directory": "/data"}}}})",
      spec);
}

inline Json parsed_body(const std::string& body) {
  auto json = parse_json(body);
  EXPECT_TRUE(json.has_value()) << body;
  return json ? *json : Json::object();
}
inline Json parsed(const Reply& reply) { return parsed_body(reply.body); }
inline Json json_of(const HttpResponse& response) { return parsed_body(response.body); }

}  // namespace paceline
