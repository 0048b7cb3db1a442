#include "cli/commands/context.hpp"

#include <chrono>

#include "cli/client/interrupt.hpp"
#include "cli/client/locate.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {

Context::Context(Console& its_console, Environment its_environment, const Hooks& its_hooks)
    : console(its_console), environment(std::move(its_environment)), hooks(its_hooks) {}

Result<Api*> Context::api() {
  if (api_) return api_.get();
  auto remote = this->remote();
  if (!remote) return fail(std::move(remote.error()));
  if (*remote) {
    auto address = address_of(**remote, &Interrupt::fd);
    if (!address) return fail(std::move(address.error()));
    api_ = std::make_unique<Api>(std::move(*address));
    return api_.get();
  }
  auto socket = find_server(server, environment);
  if (!socket) return fail(std::move(socket.error()));
  api_ = std::make_unique<Api>(
      ServerAddress{std::make_shared<UnixDialer>(std::move(*socket)), &Interrupt::fd});
  return api_.get();
}

Result<std::optional<RemoteServer>> Context::remote() const {
  return find_remote(server, environment);
}

WallTime Context::now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return WallTime{std::chrono::duration_cast<Duration>(since)};
}

}  // namespace paceline
