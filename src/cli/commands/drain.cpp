// A machine that is to become empty, and one that starts jobs again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/client/interrupt.hpp"
#include "cli/client/persistence.hpp"
#include "cli/commands/agree.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/commands/node_words.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "http/url.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr Duration kFollowEvery = std::chrono::seconds{1};

struct DrainWords {
  std::vector<std::string> nodes;
  std::optional<std::string> at, by, within, reason;
  bool dry_run = false, no_wait = false, yes = false, keep = false;
};

std::string target_of(const std::string& node, std::string_view what) {
  return fmt::format("/v1/nodes/{}/{}", url_encoded(node), what);
}

// As the first node is told; the others go with it.
Result<std::string> order_of(const DrainWords& typed) {
  JsonWriter json;
  json.begin_object().field("reason", typed.reason.value_or("")).field("keeps", typed.keep);
  if (typed.nodes.size() > 1) {
    json.key("also").begin_array();
    for (std::size_t i = 1; i < typed.nodes.size(); ++i) json.value(typed.nodes[i]);
    json.end_array();
  }
  const auto named = [&](const std::optional<std::string>& text, std::string_view option,
                         std::string_view key) -> Result<void> {
    if (!text) return {};
    const auto at = parse_deadline(*text, Context::now());
    if (!at)
      return fail(at.error().code, fmt::format("{}: {}", option, at.error().message),
                  at.error().hint);
    json.field(key, *at);
    return {};
  };
  if (auto ok = named(typed.at, "--at", "begins_at"); !ok) return fail(ok.error());
  if (auto ok = named(typed.by, "--by", "ends_at"); !ok) return fail(ok.error());
  if (typed.within) {
    const auto span = parse_span(*typed.within);
    if (!span)
      return fail(span.error().code, "--within: " + span.error().message, span.error().hint);
    json.field("within_seconds", *span);
  }
  json.end_object();
  return json.take();
}

std::string leaving_job(const Document& leaver) {
  return printable(fmt::format("job {} of {}", whole_of(leaver, "id"), text_of(leaver, "user")));
}

std::string cost_of(const Document& leaver) {
  const double lost = number_of(leaver, "loses_slot_seconds").value_or(0);
  const bool stopped = text_of(leaver, "leaves") == "stopped";
  if (stopped && flag_of(leaver, "never_saved"))
    return fmt::format("; it never saved and loses about {} slot-seconds", human_number(lost));
  return lost < 1 ? "" : fmt::format("; about {} slot-seconds are lost", human_number(lost));
}

// "  job 7 of ann goes on with 2 of its 4 workers; about 20 slot-seconds are lost"
std::string leaver_line(const Document& leaver) {
  const auto how = text_of(leaver, "leaves");
  const auto from = whole_of(leaver, "workers"), to = whole_of(leaver, "workers_then");
  const auto at = [&] {
    return human_time(number_of(leaver, "at").value_or(0), to_seconds(Context::now()));
  };
  std::string what = "stays until it ends, or until it can go on elsewhere without losing work";
  if (how == "at_once")
    what = from == to ? "moves to other nodes"
                      : fmt::format("goes on with {} of its {} workers", to, from);
  if (how == "saving") what = fmt::format("leaves when it has saved, at {} at the latest", at());
  if (how == "kept") what = "stays";
  if (how == "stopped")
    what = fmt::format("is stopped at {}, unless it ends or finds room elsewhere before", at());
  return fmt::format("  {} {}{}\n", leaving_job(leaver), what, cost_of(leaver));
}

std::string outlook_text(const std::vector<std::string>& nodes, const Document& outlook) {
  const auto slots = plural(static_cast<std::uint64_t>(whole_of(outlook, "slots")), "slot");
  const auto& jobs = list_of(outlook, "jobs");
  std::string text =
      fmt::format("Draining {} takes {} out of use", printable(listed(nodes)), slots);
  const auto is_kept = [](const auto& leaver) { return text_of(leaver, "leaves") == "kept"; };
  if (!jobs.empty() && std::ranges::all_of(jobs, is_kept))
    return text + fmt::format("; {} there {}.\n", plural(jobs.size(), "job"),
                              jobs.size() == 1 ? "stays" : "stay");
  if (jobs.empty()) return text + "; nothing runs there.\n";
  text += fmt::format(
      " and makes {} leave; about {} slot-seconds are lost:\n", plural(jobs.size(), "job"),
      human_number(std::round(number_of(outlook, "loses_slot_seconds").value_or(0))));
  for (const auto& leaver : jobs) text += leaver_line(leaver);
  return text;
}

// The jobs that would be stopped, in one sentence; empty: none.
std::string harm_of(const std::vector<std::string>& nodes, const Document& outlook) {
  std::vector<std::string> stopped;
  bool anew = false;
  for (const auto& leaver : list_of(outlook, "jobs")) {
    if (text_of(leaver, "leaves") != "stopped") continue;
    stopped.push_back(std::to_string(whole_of(leaver, "id")));
    anew = anew || flag_of(leaver, "never_saved");
  }
  if (stopped.empty()) return {};
  return fmt::format("Draining {} is to stop job{} {}{}.", listed(nodes),
                     stopped.size() == 1 ? "" : "s", listed(stopped),
                     anew ? ", and what never saved begins anew" : "");
}

// ---- following ----

// The nodes among these that drain and are not empty, and what stands in their way.
std::string what_is_left(const Document& answer, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& node : list_of(answer, "nodes")) {
    if (std::ranges::find(names, text_of(node, "name")) == names.end()) continue;
    if (list_of(member(node, "drain"), "jobs").empty()) continue;
    text += printable(fmt::format("{} {}", text_of(node, "name"),
                                  drain_words(node, to_seconds(Context::now())))) +
            "\n";
  }
  return text;
}

// Somebody lets jobs start there again.
bool is_undrained(const Document& answer, const std::vector<std::string>& names) {
  return std::ranges::any_of(list_of(answer, "nodes"), [&](const auto& node) {
    const bool ours = std::ranges::find(names, text_of(node, "name")) != names.end();
    return ours && !member(node, "drain").is_object();
  });
}

// Until none of them has a job. A signal ends the following, not the drain.
Result<int> follow(Context& context, Api& api, const std::vector<std::string>& names) {
  const Interrupt interrupt;
  Persistence patience(context.console);
  std::string told;
  for (;;) {
    const auto answer = api.get("/v1/nodes");
    if (answer) {
      patience.over();
      if (is_undrained(*answer, names))
        return fail(ErrorCode::conflict, "Somebody ended the drain: 'paceline undrain' was given.",
                    "'paceline nodes' shows which nodes drain.");
      const auto left = what_is_left(*answer, names);
      if (left.empty()) break;
      if (left != told) context.console.print(left);
      told = left;
      Interrupt::sleep(kFollowEvery);
    } else if (!patience.again(answer.error()) && Interrupt::pending() == 0) {
      return fail(answer.error());
    }
    if (Interrupt::pending() != 0) {
      context.console.note("The drain goes on; 'paceline nodes' tells how far it is.");
      return 128 + Interrupt::pending();
    }
  }
  context.console.print(
      fmt::format("{} {} empty.\n", printable(listed(names)), names.size() == 1 ? "is" : "are"));
  return 0;
}

Result<int> drain(Context& context, const DrainWords& typed) {
  const auto order = order_of(typed);
  if (!order) return fail(order.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto target = target_of(typed.nodes.front(), "drain");
  const auto outlook = (*api)->post(target + "?dry_run=1", *order);
  if (!outlook) return fail(outlook.error());
  context.console.print(outlook_text(typed.nodes, *outlook));
  if (flag_of(*outlook, "is_last"))
    context.console.note(
        "No other node starts jobs: until 'paceline undrain' all that wait go on waiting.");
  if (typed.dry_run) return 0;
  const auto harm = harm_of(typed.nodes, *outlook);
  const auto agreed = harm.empty() || typed.yes ? Result<void>() : agree(context, harm);
  if (!agreed) return fail(agreed.error());
  const auto done = (*api)->post(target, *order);
  if (!done) return fail(done.error());
  if (typed.at)
    context.console.print(
        "It is announced: jobs that would not be over by then start elsewhere.\n");
  if (typed.at || typed.no_wait || typed.keep) return 0;
  return follow(context, **api, typed.nodes);
}

Result<int> undrain(Context& context, const std::vector<std::string>& nodes) {
  return for_each_word(context, nodes, [&](Api& api, const std::string& node) -> Result<int> {
    const auto done = api.post(target_of(node, "undrain"), "{}");
    if (!done) return fail(done.error());
    context.console.print(fmt::format("Jobs may start on {} again.\n", printable(node)));
    return 0;
  });
}

}  // namespace

Command drain_command() {
  return {
      "drain",
      "",
      "Nodes",
      "Empty machines without losing work: says what it costs, and follows until they are empty",
      "paceline drain gpu-3 --reason 'new kernel'\n"
      "paceline drain gpu-3 --within 30m\n"
      "paceline drain gpu-1 gpu-2 --at 22:00 --within 15m --reason 'power'",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<DrainWords>();
        options.words("NODE", typed->nodes, Count::some, "names of machines");
        options.value("--at", "TIME", typed->at,
                      "announce it for then: 22:00, +2h, 2025-11-20T18:00:00Z");
        options.value("--by", "TIME", typed->by, "stop what is there still at that time");
        options.value("--within", "SPAN", typed->within,
                      "the same, so long after it begins; 0s: at once");
        options.value("--reason", "TEXT", typed->reason, "why, for everybody");
        options.flag("--keep", typed->keep, "only keep new jobs off: what runs there stays");
        options.flag("--dry-run", typed->dry_run, "only say what it would do, and what it costs");
        options.flag("--no-wait", typed->no_wait, "don't follow until they are empty");
        options.flag("-y,--yes", typed->yes, "also where jobs are to be stopped; asks nothing");
        return [typed](Context& context) { return drain(context, *typed); };
      }};
}

Command undrain_command() {
  return {"undrain",
          "",
          "Nodes",
          "Let jobs start again on machines that drain, or are to",
          "paceline undrain gpu-3",
          [](Options& options) -> Action {
            const auto nodes = std::make_shared<std::vector<std::string>>();
            options.words("NODE", *nodes, Count::some, "names of machines");
            return [nodes](Context& context) { return undrain(context, *nodes); };
          }};
}

}  // namespace paceline
