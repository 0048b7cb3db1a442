// The terminal of rank 0 of a `pty` job.
#include <fmt/format.h>

#include "api/context.hpp"

namespace paceline {
namespace {

constexpr std::string_view kProtocol = "paceline-pty";

Result<ProcessKey> terminal_of(ApiContext& context, const HttpRequest& request) {
  const auto job = context.job(request);
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
  return gang->process((*job)->id, 0);
}

}  // namespace

void add_attach_route(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/jobs/{id}/attach", Action::attach, [context](const auto& exchange) {
    const auto worker = terminal_of(*context, exchange->request());
    if (!worker) return exchange->refuse(worker.error());
    context->options.output->attach(
        *worker, [exchange](Result<std::shared_ptr<ServerStream>> terminal) {
          if (!terminal) return exchange->refuse(terminal.error());
          exchange->tunnel(std::string(kProtocol), std::move(*terminal));
        });
  });
}

}  // namespace paceline
