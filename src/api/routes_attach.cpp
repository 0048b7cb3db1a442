// The terminal of rank 0 of a `pty` job.
#include <fmt/format.h>

#include "api/context.hpp"

namespace paceline {
namespace {

constexpr std::string_view kProtocol = "paceline-pty";

Result<std::string> terminal_of(const ApiContext& context, const ApiRequest& request) {
  const auto job = context.own_job(request);
  if (!job) return fail(job.error());
  const auto id = (*job)->id.value;
  if (request.header("Upgrade") != kProtocol) {
    return fail(ErrorCode::invalid, "Attaching is not a plain request.",
                fmt::format("Send 'Connection: Upgrade' and 'Upgrade: {}'.", kProtocol));
  }
  if (!(*job)->spec->pty) {
    return fail(ErrorCode::conflict, fmt::format("Job {} has no terminal.", id),
                "Submit with --pty to get one.");
  }
  const auto& gang = (*job)->current;
  if (!gang || gang->workers.empty() || gang->workers.front().state != WorkerState::running) {
    return fail(ErrorCode::conflict, fmt::format("Job {} does not run now.", id),
                fmt::format("'paceline why {}' says what it waits for.", id), Retry::may_help);
  }
  return (context.options.directory / "agent" / "terminals" /
          fmt::format("{}.{}.0.sock", id, gang->generation.value))
      .string();
}

}  // namespace

void add_attach_route(Router& router, const SharedContext& context) {
  router.add("GET", "/v1/jobs/{id}/attach", [context](const auto& exchange) {
    const auto terminal = terminal_of(*context, exchange->request());
    if (!terminal) return exchange->refuse(terminal.error());
    exchange->tunnel(std::string(kProtocol), *terminal);
  });
}

}  // namespace paceline
