// Nodes that Slurm brings to this server.
#include <fmt/format.h>

#include <limits>

#include "cli/commands/agree.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/commands/node_words.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::string_view kSlurm = "/v1/slurm";
constexpr std::int64_t kWholeMax = 1'000'000;

struct ConnectWords {
  std::optional<std::string> partition, account, nodes_max, time, gres, cpus, idle, lease,
      look_every, log;
};

tl::unexpected<Error> refused_wish(std::string_view option, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", option, error.message), error.hint);
}

// Writes what was typed; what wasn't is the server's to fill in.
class SlurmWish {
 public:
  SlurmWish() { json_.begin_object(); }

  void text(std::string_view key, const std::optional<std::string>& typed) {
    if (typed) json_.field(key, *typed);
  }
  void span(std::string_view key, std::string_view option,
            const std::optional<std::string>& typed) {
    if (!typed) return;
    const auto span = parse_duration(*typed);
    if (!span) return refuse(option, span.error());
    json_.field(key, *span);
  }
  void whole(std::string_view key, std::string_view option,
             const std::optional<std::string>& typed) {
    if (!typed) return;
    const auto number = parse_whole(*typed, {1, kWholeMax});
    if (!number) return refuse(option, number.error());
    json_.field(key, *number);
  }
  Result<std::string> take() {
    if (refusal_) return fail(*refusal_);
    json_.end_object();
    return json_.take();
  }

 private:
  void refuse(std::string_view option, const Error& error) {
    if (!refusal_) refusal_ = refused_wish(option, error).value();
  }

  JsonWriter json_;
  std::optional<Error> refusal_;
};

Result<std::string> wish_of(const ConnectWords& typed) {
  SlurmWish wish;
  wish.text("partition", typed.partition);
  wish.text("account", typed.account);
  wish.whole("nodes_max", "--nodes-max", typed.nodes_max);
  wish.span("time_seconds", "--time", typed.time);
  wish.text("gres", typed.gres);
  wish.whole("cpus", "--cpus", typed.cpus);
  wish.span("idle_seconds", "--idle", typed.idle);
  wish.span("lease_seconds", "--lease", typed.lease);
  wish.span("look_every_seconds", "--look-every", typed.look_every);
  wish.text("pilot_log", typed.log);
  return wish.take();
}

// Slurm may take its time to find a node from which the server can be reached.
constexpr std::chrono::seconds kProvenWithin{180};

Result<int> connect(Context& context, const ConnectWords& typed) {
  auto wish = wish_of(typed);
  if (!wish) return fail(wish.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  ClientRequest request;
  request.method = "POST";
  request.target = kSlurm;
  request.body = std::move(*wish);
  request.timeout = kProvenWithin;
  const auto made = (*api)->ask(request);
  if (!made) return fail(made.error());
  context.console.print(fmt::format(
      "Connected: jobs that wait get up to {} of Slurm's.{}\n",
      plural(static_cast<std::uint64_t>(whole_of(*made, "nodes_max")), "node"),
      flag_of(*made, "proven")
          ? " A node of it reached this server."
          : " No node was free to prove that it reaches this server: the first pilot will."));
  context.console.print("  next: paceline slurm status\n");
  return 0;
}

std::string head_of(const Document& answer) {
  if (!flag_of(answer, "connected"))
    return "This server is not connected to Slurm: 'paceline slurm connect' asks it for nodes.\n";
  std::string text =
      flag_of(answer, "leaving")
          ? std::string("Leaving Slurm: every node is given back.\n")
          : fmt::format(
                "Slurm: could grow to {} of {}, each for {}.\n",
                plural(static_cast<std::uint64_t>(whole_of(answer, "could_grow_to_nodes")), "node"),
                plural(static_cast<std::uint64_t>(whole_of(answer, "slots_per_node")), "slot"),
                human_duration(number_of(answer, "time_seconds").value_or(0)));
  const auto problem = text_of(answer, "problem");
  return problem.empty() ? text : text + problem + "\n";
}

std::string draw_status(const Document& answer, const Output& output, const Console& console) {
  std::string jobs;
  Table table({{"JOB", Align::right},
               {"STATE"},
               {"NODE", Align::left, 8},
               {"ASKED", Align::right},
               {"LEFT", Align::right},
               {"REASON", Align::left, 8}});
  const auto pilots = list_of(answer, "pilots");
  for (const auto& pilot : pilots) {
    const auto job = number_of(pilot, "job");
    const auto id = job ? fmt::format("{:.0f}", *job) : std::string("-");
    jobs += id + "\n";
    const auto left = number_of(pilot, "time_left_seconds");
    const auto asked = to_seconds(Context::now()) - number_of(pilot, "asked_at").value_or(0);
    auto node = text_of(pilot, "node");
    if (node.empty()) node = text_of(pilot, "host");
    table.add({{id},
               {text_of(pilot, "state")},
               {or_dash(node)},
               {human_duration(asked) + " ago"},
               {left ? human_duration(*left) : "-"},
               {or_dash(text_of(pilot, "reason"))}});
  }
  if (output.format == Format::name) return jobs;
  return head_of(answer) + (pilots.empty() ? "" : table.render(console.look(output.header)));
}

struct DisconnectWords {
  bool dry_run = false, yes = false;
};

std::string cost_of_leaving(const Document& cost) {
  std::vector<std::string> ids;
  for (const auto& id : list_of(cost, "jobs")) ids.push_back(id.dump());
  if (ids.empty())
    return fmt::format("{} of Slurm's would be given back; no job runs there.",
                       plural(static_cast<std::uint64_t>(whole_of(cost, "pilots")), "node"));
  return fmt::format(
      "{} of Slurm's would be given back: {} {} leave within two minutes, which costs about {} of "
      "work.",
      plural(static_cast<std::uint64_t>(whole_of(cost, "pilots")), "node"),
      ids.size() == 1 ? "job" : "jobs", listed(ids),
      plural(static_cast<std::uint64_t>(number_of(cost, "loses_slot_seconds").value_or(0)),
             "slot-second"));
}

Result<int> disconnect(Context& context, const DisconnectWords& typed) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto cost = (*api)->remove(fmt::format("{}?dry_run=true", kSlurm));
  if (!cost) return fail(cost.error());
  if (typed.dry_run) {
    context.console.print(cost_of_leaving(*cost) + "\n");
    return 0;
  }
  if (!list_of(*cost, "jobs").empty() && !typed.yes) {
    if (auto agreed = agree(context, cost_of_leaving(*cost)); !agreed) return fail(agreed.error());
  }
  const auto left = (*api)->remove(std::string(kSlurm));
  if (!left) return fail(left.error());
  context.console.print(
      whole_of(*left, "pilots") == 0
          ? std::string("Disconnected from Slurm.\n")
          : std::string("Disconnected: every node is given back once its jobs have left it; "
                        "'paceline slurm status' shows those that are there still.\n"));
  return 0;
}

}  // namespace

Command slurm_connect_command() {
  return {"slurm connect",
          "",
          "Nodes",
          "Let Slurm bring nodes for the jobs that wait",
          "paceline slurm connect --partition gpu --gres gpu:4 --nodes-max 4 --time 8h\n"
          "paceline slurm connect --cpus 8 --account lab --idle 5m",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<ConnectWords>();
            options.value("--partition", "NAME", typed->partition, "of Slurm (its default)");
            options.value("--account", "NAME", typed->account, "to charge (Slurm's default)");
            options.value("--nodes-max", "N", typed->nodes_max, "so many at a time (1)");
            options.value("--time", "TIME", typed->time,
                          "how long Slurm is asked for each: 8h (8h); jobs leave it in time");
            options.value("--gres", "GRES", typed->gres, "devices of each node: gpu:4 (none)");
            options.value("--cpus", "N", typed->cpus, "cores of each node (1)");
            options.value("--idle", "TIME", typed->idle,
                          "a node where nothing ran for so long is given back (10m)");
            options.value("--lease", "TIME", typed->lease,
                          "so long trainings run on there while this server is not heard (15m)");
            options.value("--look-every", "TIME", typed->look_every,
                          "how often Slurm is asked (15s)");
            options.value("--pilot-log", "FILE", typed->log,
                          "where Slurm keeps what a node's agent says, like /home/ann/pilot-%j "
                          "(nowhere)");
            return [typed](Context& context) { return connect(context, *typed); };
          }};
}

Command slurm_status_command() {
  return view_command({"slurm status",
                       "",
                       "Nodes",
                       "Show the nodes that Slurm was asked for",
                       "paceline slurm status\npaceline slurm status -o json",
                       {}},
                      kSlurm, draw_status);
}

Command slurm_disconnect_command() {
  return {"slurm disconnect",
          "",
          "Nodes",
          "Give every node of Slurm's back; says first what that costs",
          "paceline slurm disconnect --dry-run\npaceline slurm disconnect",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<DisconnectWords>();
            options.flag("--dry-run", typed->dry_run, "only say what it would cost");
            options.flag("--yes", typed->yes, "don't ask");
            return [typed](Context& context) { return disconnect(context, *typed); };
          }};
}

}  // namespace paceline
