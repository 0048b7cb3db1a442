#include <fmt/format.h>

#include "cli/client/locate.hpp"
#include "cli/client/server_process.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/text.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::chrono::seconds kEndsWithin{60};

std::string farewell(const Document& answer) {
  std::vector<std::string> ids;
  for (const auto& id : list_of(answer, "running")) ids.push_back(id.dump());
  if (ids.empty()) return "The server stopped; no job runs.\n";
  return fmt::format(
      "The server stopped. {} {} still {}; 'paceline up' takes over again, and 'paceline down "
      "--jobs' would have ended {}.\n",
      ids.size() == 1 ? "Job" : "Jobs", listed(ids), ids.size() == 1 ? "runs" : "run",
      ids.size() == 1 ? "it" : "them");
}

Result<int> stop(Context& context, bool jobs) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  JsonWriter json;
  json.begin_object().field("jobs", jobs).end_object();
  ClientRequest request;
  request.method = "POST";
  request.target = "/v1/shutdown";
  request.body = json.take();
  if (jobs) request.timeout = std::chrono::hours{24};  // every job has its own grace
  const auto remote = context.remote();
  if (!remote) return fail(remote.error());
  std::optional<ServerProcess> process;
  if (!*remote) {
    const auto socket = find_server(context.server, context.environment);
    if (!socket) return fail(socket.error());
    process.emplace(*socket);
  }
  const auto answer = (*api)->ask(request);
  if (!answer) return fail(answer.error());
  if (process && !process->wait(kEndsWithin))
    return fail(
        ErrorCode::unavailable, "The server says that it stops, and has not ended yet.",
        "See what it is doing: its messages are in DIR/server.log or 'journalctl -u paceline'.");
  context.console.print(farewell(*answer));
  return 0;
}

}  // namespace

Command down_command() {
  return {"down",
          "",
          "Server",
          "Stop the server; jobs go on unless told otherwise",
          "paceline down\npaceline down --jobs",
          [](Options& options) -> Action {
            const auto jobs = std::make_shared<bool>(false);
            options.flag("--jobs", *jobs, "end all jobs first");
            return [jobs](Context& context) { return stop(context, *jobs); };
          }};
}

}  // namespace paceline
