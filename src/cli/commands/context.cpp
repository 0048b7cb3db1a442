#include "cli/commands/context.hpp"

#include <chrono>

#include "cli/client/interrupt.hpp"
#include "cli/client/locate.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {

Context::Context(Console& its_console, Environment its_environment, const Hooks& its_hooks)
    : console(its_console), environment(std::move(its_environment)), hooks(its_hooks) {}

Result<Api*> Context::api() {
  if (!api_) {
    auto socket = find_server(server, environment);
    if (!socket) return fail(std::move(socket.error()));
    api_ = std::make_unique<Api>(
        ServerAddress{std::make_shared<UnixDialer>(std::move(*socket)), &Interrupt::fd});
  }
  return api_.get();
}

WallTime Context::now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return WallTime{std::chrono::duration_cast<Duration>(since)};
}

}  // namespace paceline
