#include "agent/linux/script_server.hpp"

#include <chrono>
#include <utility>

#include "http/socket_listener.hpp"

namespace paceline::agent {
namespace {

constexpr int kBusy = 503;
constexpr auto kBusyWait = std::chrono::milliseconds{50};
constexpr auto kBusyPatience = std::chrono::seconds{10};

ServerOptions script_options() {
  ServerOptions options;
  options.when_full = WhenFull::replace;
  options.connections_max = 64;
  options.header_bytes_max = 8 << 10;
  options.body_bytes_max = 64 << 10;
  options.idle_ms = options.body_ms = options.write_ms = std::chrono::seconds{60};
  options.proof_ms = std::chrono::seconds{10};
  return options;
}

void ask(const std::shared_ptr<const ScriptHandler>& handler,
         const std::shared_ptr<Exchange>& exchange, int again) {
  auto response = (*handler)(exchange->request());
  if (response.status != kBusy || again == 0) return exchange->reply(std::move(response));
  exchange->after(kBusyWait, [handler, exchange, again] { ask(handler, exchange, again - 1); });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_scripts(boost::asio::io_context& io, UniqueFd listening,
                                                  ScriptHandler handler, Router router) {
  router.otherwise([handler = std::make_shared<const ScriptHandler>(std::move(handler))](
                       const std::shared_ptr<Exchange>& exchange) {
    ask(handler, exchange, kBusyPatience / kBusyWait);
  });
  auto server = std::make_unique<HttpServer>(io, listen_on(io, std::move(listening)),
                                             std::move(router), script_options());
  if (auto started = server->start(); !started) return fail(std::move(started.error()));
  return server;
}

HttpResponse busy() {
  return {.status = kBusy,
          .body = R"({"error":{"code":"busy","message":"The server can't store reports now; )"
                  R"(send this one again later.","hint":""}})"};
}

}  // namespace paceline::agent
