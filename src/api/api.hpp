// Version 1 of the HTTP API (docs/api.md) on top of a controller: it reads the state, hands on
// commands and decides nothing.
//
//   HttpApi api(controller, {.directory = dir, .output = output, .uid = ::getuid(), …});
//   HttpServer server(io, listen_at_path(io, dir / "paceline.sock", SocketAccess::owner),
//                     api.router(), {.admit = api.admission()});
//
// Everything happens on the thread that runs `io` and calls controller.step().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/login.hpp"
#include "api/measures.hpp"
#include "api/routes.hpp"
#include "api/worker_output.hpp"
#include "base/result.hpp"
#include "http/http.hpp"
#include "http/router.hpp"
#include "model/limits.hpp"
#include "model/principal.hpp"
#include "notify/notify.hpp"
#include "scheduler/controller.hpp"
#include "trust/sha256.hpp"

namespace paceline {

// How the messages about one job fared.
struct MessageSums {
  std::uint64_t waiting = 0, given_up = 0;
  std::string problem;  // of the newest that wasn't taken; empty: none
};

class AgentDoor;
class Authority;
class NodeBook;
class ShipDesk;
class SlurmDesk;
class TokenBook;

// How people and machines elsewhere are known. What it points to outlives the API.
struct RemoteAccess {
  TokenBook* tokens = nullptr;
  Sha256 authority{};   // by it they know the server: its fingerprint is in their tokens
  std::string address;  // to tell them: "gpu-box:7443"

  // ---- of machines that join; without them none does ----
  NodeBook* nodes = nullptr;
  const Authority* issuer = nullptr;        // vouches for nodes
  std::vector<std::string> own_nodes = {};  // the server's own; no other machine is called so
  AgentDoor* agents = nullptr;              // serves nodes that dial in; nullptr: not now
  // Takes the word of `by` that a node's machine is off: its workers have ended. Errors: conflict: it is
  // heard.
  std::function<Result<void>(std::string_view node, std::string_view by)> count_off = {};
  // Told of a machine that may not join or connect: its address, and why, as a sentence. Empty: nobody is.
  std::function<void(std::string_view from, std::string_view why)> turned_away = {};
};

// Checkpoints that lie on one node alone, as the engine asks for them.
struct CheckpointAccess {
  std::string own_node;  // the server's machine
  std::function<bool(std::string_view node, const ProcessKey& by, std::uint64_t report)> wants;
  std::function<Result<void>(std::string_view node, const KeptCheckpoint& kept)> take;
};

struct ApiOptions {
  std::filesystem::path directory;            // DIR, to be told of
  std::shared_ptr<WorkerOutput> output = {};  // logs and terminals; REQUIRES: there is one
  std::string version = {};
  std::string build = {};
  // Of the server. 0: it is shared, everyone sees the queue and touches what is theirs; else it
  // serves this user (and root) alone.
  std::uint32_t uid = 0;
  Limits limits = {};  // to be told of, and to keep to
  // The principal that asks. Empty: the account that the kernel knows of a unix socket's peer.
  // Errors: forbidden.
  std::function<Result<Principal>(const HttpRequest&)> identify = {};
  // Nothing: no other machines are served.
  std::optional<RemoteAccess> remote = {};
  // Nodes that Slurm brings; nullptr: none, as no other machines are served. It outlives the API.
  SlurmDesk* slurm = nullptr;
  // Directories that travel with jobs; nullptr: none do. It outlives the API.
  ShipDesk* ships = nullptr;
  // Nothing, or no `ships`: none are kept.
  std::optional<CheckpointAccess> checkpoints = {};
  // The name service of this machine.
  LoginService logins = {};
  // Of a shared server: may this user's account run anything? Empty: every one may. Errors: forbidden;
  // unavailable (may_help): nobody knows now.
  std::function<Result<void>(std::uint32_t)> account = {};
  // Is an agent connected? Empty: a node that is up will do.
  std::function<bool()> ready = {};
  // What was found damaged in what is stored, in a sentence; empty: nothing.
  std::function<std::string()> damage = {};
  // What the process measures of itself; empty: nothing.
  std::function<Measures()> measures = {};
  // Does GET /metrics tell of each job?
  bool metrics_of_jobs = false;
  // Can what a submission asks to be told be told? Empty: nothing can. Errors: invalid, with what to do.
  std::function<Result<void>(const Notify&)> may_notify = {};
  std::function<MessageSums(JobId)> messages = {};
  // Ends the server; called after the answer to a shutdown was handed out.
  std::function<void()> leave = {};
};

struct ApiContext;
class MetricsPage;

class HttpApi {
 public:
  // REQUIRES: the controller has recovered; it outlives the router made here.
  HttpApi(Controller& controller, ApiOptions options);
  ~HttpApi();
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

  // Every route of docs/api.md. Each asks the one table (api/access.hpp) whether the caller may.
  [[nodiscard]] Router router() const;
  // GET /metrics alone, for anybody who can connect.
  [[nodiscard]] Router metrics_router() const;
  // The server's keepers: its admins, as far as the transport knows them.
  [[nodiscard]] std::function<bool(const Peer&)> keeper() const;
  // The accounts that may connect at all.
  [[nodiscard]] std::function<Result<void>(const HttpRequest&)> admission() const;
  // Every route, and the action that it performs.
  [[nodiscard]] std::vector<RouteRow> rows() const;

 private:
  [[nodiscard]] Routes all_routes() const;

  std::shared_ptr<ApiContext> context_;
  std::shared_ptr<const MetricsPage> metrics_;
  std::shared_ptr<void> commits_;
};

}  // namespace paceline
