#include <fmt/format.h>

#include <cmath>

#include "cli/commands/kinds.hpp"
#include "cli/words/bill.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

// "start 2 on box"; "-" if it would leave the job as it is.
std::string act_of(const Document& change) {
  if (!change.is_object()) return "-";
  std::vector<std::string> nodes;
  for (const auto& node : list_of(change, "nodes")) {
    if (node.is_string()) nodes.push_back(node.get<std::string>());
  }
  if (nodes.empty()) return text_of(change, "kind");
  return fmt::format("{} {} on {}", text_of(change, "kind"), whole_of(change, "workers"),
                     listed(nodes));
}

std::string round_of(const Document& round, const Console& console, double now) {
  Table table({{"JOB", Align::right},
               {"LIVE"},
               {"REASON", Align::left},
               {"SHADOW"},
               {"REASON", Align::left, true}});
  for (const auto& change : list_of(round, "changes")) {
    const auto& live = member(change, "live");
    const auto& shadow = member(change, "shadow");
    table.add({{std::to_string(whole_of(change, "job"))},
               {act_of(live)},
               {text_of(live, "reason")},
               {act_of(shadow)},
               {text_of(shadow, "reason")}});
  }
  return fmt::format("\nThe newest round that differs, {} at {}:\n", whole_of(round, "round"),
                     human_time(number_of(round, "at").value_or(now), now)) +
         table.render(console.look());
}

std::string signed_duration(double seconds) {
  const auto text = human_duration(std::abs(seconds));
  if (text == "0s") return text;
  return (seconds < 0 ? "-" : "+") + text;
}

void add_duration(Table& table, const Document& forecast, std::string_view label,
                  std::string_view key) {
  const double live = number_of(member(forecast, "live"), key).value_or(0);
  const double shadow = number_of(member(forecast, "shadow"), key).value_or(0);
  table.add({{std::string(label)},
             {human_duration(live)},
             {human_duration(shadow)},
             {signed_duration(shadow - live)}});
}

void add_slot_seconds(Table& table, std::string label, double live, double shadow) {
  table.add({{std::move(label)},
             {fmt::format("{:.0f}", live)},
             {fmt::format("{:.0f}", shadow)},
             {fmt::format("{:+.0f}", shadow - live)}});
}

// The sum, then the causes that have a part in it.
void add_losses(Table& table, const Document& live, const Document& shadow) {
  add_slot_seconds(table, "slot-seconds lost", total_of(live), total_of(shadow));
  for (const auto cause : kCauses) {
    const double before = number_of(live, cause).value_or(0);
    const double after = number_of(shadow, cause).value_or(0);
    if (before > 0 || after > 0)
      add_slot_seconds(table, fmt::format("  by {}", cause), before, after);
  }
}

// Whose jobs lose what; nothing where nobody's do.
std::string users_of(const Document& forecast, const Console& console) {
  Table table({{"SLOT-SECONDS LOST BY"},
               {"LIVE", Align::right},
               {"SHADOW", Align::right},
               {"DIFFERENCE", Align::right}});
  const auto add = [&](std::string label, const Document& lost) {
    add_slot_seconds(table, std::move(label), total_of(member(lost, "live")),
                     total_of(member(lost, "shadow")));
  };
  for (const auto& user : list_of(forecast, "users")) add(text_of(user, "user"), user);
  const auto& others = member(forecast, "other_users");
  const auto count = static_cast<std::uint64_t>(whole_of(others, "count"));
  if (count > 0) add(plural(count, "other"), others);
  return table.empty() ? "" : "\n" + table.render(console.look());
}

// On what the numbers rest.
std::string forecast_grounds(const Document& forecast) {
  std::string text =
      fmt::format("Mean of {}; the newest of {}.",
                  plural(static_cast<std::uint64_t>(whole_of(forecast, "samples")), "forecast"),
                  plural(static_cast<std::uint64_t>(whole_of(forecast, "jobs")), "job"));
  if (const auto guessed = whole_of(forecast, "guessed"); guessed > 0)
    text += fmt::format(" {} of unknown length: taken for the median, or 1h.", guessed);
  if (const auto open = whole_of(forecast, "unfinished"); open > 0)
    text += fmt::format(" {} not over when it was cut off.", open);
  return text + "\n";
}

std::string forecast_of(const Document& forecast, const Console& console) {
  if (!forecast.is_object()) return "\nThere is no forecast yet.\n";
  Table table({{"PREDICTED"},
               {"LIVE", Align::right},
               {"SHADOW", Align::right},
               {"DIFFERENCE", Align::right}});
  add_duration(table, forecast, "mean completion", "completion_seconds");
  add_duration(table, forecast, "mean waiting", "waiting_seconds");
  add_duration(table, forecast, "makespan", "makespan_seconds");
  add_losses(table, member(member(forecast, "live"), "lost_slot_seconds"),
             member(member(forecast, "shadow"), "lost_slot_seconds"));
  return "\n" + table.render(console.look()) + users_of(forecast, console) +
         forecast_grounds(forecast);
}

std::string page_of(const Document& shadow, const Console& console, double now) {
  std::string text = fmt::format(
      "{} in the shadow of {} for {}: {} of {} differed.\n", text_of(shadow, "name"),
      text_of(shadow, "live"), human_duration(now - number_of(shadow, "since").value_or(now)),
      whole_of(shadow, "differed"),
      plural(static_cast<std::uint64_t>(whole_of(shadow, "rounds")), "round"));
  const auto counted_since = number_of(shadow, "counted_since");
  if (counted_since > number_of(shadow, "since"))
    text += fmt::format("The server started again {} ago: these are the rounds since.\n",
                        human_duration(now - *counted_since));
  if (const auto skipped = whole_of(shadow, "skipped"); skipped > 0)
    text += fmt::format("{} more were passed over, for want of time.\n", skipped);
  if (const auto failed = whole_of(shadow, "failed"); failed > 0)
    text +=
        fmt::format("In {} more it failed: {}\n", failed, printable(text_of(shadow, "failure")));
  const auto& rounds = list_of(shadow, "differences");
  if (!rounds.empty()) text += round_of(rounds.back(), console, now);
  return text + forecast_of(member(shadow, "forecast"), console);
}

}  // namespace

Command policy_diff_command() {
  return view_command({"policy diff",
                       "",
                       "Cluster",
                       "Compare the policy that is tried with the live one",
                       "paceline policy diff\npaceline policy diff -o json",
                       {}},
                      "/v1/shadow",
                      [](const Document& answer, const Output&, const Console& console) {
                        return page_of(answer, console, to_seconds(Context::now()));
                      });
}

}  // namespace paceline
