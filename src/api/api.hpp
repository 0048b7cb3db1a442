// Version 1 of the HTTP API (docs/api.md) on top of a controller: it reads the state, hands on
// commands and decides nothing.
//
//   HttpApi api(io, controller, {.directory = dir, .uid = ::getuid(), …});
//   HttpServer server(io, api.router(),
//                     {.socket = dir / "paceline.sock", .admit = api.admission()});
//
// Everything happens on the thread that runs `io` and calls controller.step().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "api/http.hpp"
#include "api/router.hpp"
#include "base/result.hpp"
#include "model/limits.hpp"
#include "scheduler/controller.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline {

struct ApiOptions {
  std::filesystem::path directory;  // DIR: logs/ and agent/terminals/ lie there
  std::string version = {};
  std::string build = {};
  // Of the server. 0: it is shared, everyone sees the queue and touches what is theirs; else it
  // serves this user (and root) alone.
  std::uint32_t uid = 0;
  Limits limits = {};  // to be told of
  // Of a shared server: may this user's account run anything? Empty: every one may.
  std::function<Result<void>(std::uint32_t)> account = {};
  // Is an agent connected? Empty: a node that is up will do.
  std::function<bool()> ready = {};
  // What was found damaged in what is stored, in a sentence; empty: nothing.
  std::function<std::string()> damage = {};
  // Ends the server; called after the answer to a shutdown was handed out.
  std::function<void()> leave = {};
};

struct ApiContext;

class HttpApi {
 public:
  // Takes the controller's on_commit for itself. REQUIRES: the controller has recovered; it and
  // `io` outlive the router made here.
  HttpApi(boost::asio::io_context& io, Controller& controller, ApiOptions options);
  ~HttpApi();
  HttpApi(const HttpApi&) = delete;
  HttpApi& operator=(const HttpApi&) = delete;

  // Every route of docs/api.md.
  [[nodiscard]] Router router() const;
  // Who keeps the server: root and whose server it is.
  [[nodiscard]] std::function<bool(const Peer&)> keeper() const;
  // Who may connect at all.
  [[nodiscard]] std::function<Result<void>(const Peer&)> admission() const;

 private:
  std::shared_ptr<ApiContext> context_;
};

}  // namespace paceline
