#include "cli/commands/context.hpp"

#include <unistd.h>

#include <chrono>

#include "cli/client/interrupt.hpp"
#include "cli/client/locate.hpp"
#include "cli/words/document.hpp"
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

// Of this machine's server the socket says who asks, elsewhere the token does.
Result<std::int64_t> Context::own_uid() {
  if (own_uid_) return *own_uid_;
  const auto remote = this->remote();
  if (!remote) return fail(remote.error());
  if (!*remote) return *(own_uid_ = static_cast<std::int64_t>(::getuid()));
  const auto api = this->api();
  if (!api) return fail(api.error());
  const auto said = (*api)->get("/v1/whoami");
  if (!said) return fail(said.error());
  constexpr double kNobodys = -1;  // who has no account there has no jobs
  return *(own_uid_ = static_cast<std::int64_t>(number_of(*said, "uid").value_or(kNobodys)));
}

WallTime Context::now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return WallTime{std::chrono::duration_cast<Duration>(since)};
}

}  // namespace paceline
