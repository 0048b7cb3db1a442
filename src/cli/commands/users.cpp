#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr double kHour = 3600;

std::string slot_hours(const Document& object, std::string_view key) {
  return fmt::format("{:.1f}", number_of(object, key).value_or(0) / kHour);
}

std::string draw_users(const Document& answer, const Output& output, const Console& console) {
  if (output.format == Format::name) {
    std::string text;
    for (const auto& user : list_of(answer, "users")) text += text_of(user, "user") + "\n";
    return text;
  }
  Table table({{"USER", Align::left, 8},
               {"JOBS", Align::right, 0, 5},
               {"WAITING", Align::right, 0, 7},
               {"RUNNING", Align::right, 0, 6},
               {"SLOTS", Align::right},
               {"WAITED", Align::right, 0, 4},
               {"SLOT-HOURS", Align::right, 0, 8},
               {"PREEMPTED", Align::right, 0, 3},
               {"RESIZED", Align::right, 0, 2},
               {"FAILED", Align::right, 0, 1}});
  for (const auto& user : list_of(answer, "users")) {
    const auto& lost = member(user, "lost_slot_seconds");
    table.add({{text_of(user, "user")},
               {std::to_string(whole_of(user, "jobs"))},
               {std::to_string(whole_of(user, "waiting"))},
               {std::to_string(whole_of(user, "running"))},
               {std::to_string(whole_of(user, "slots"))},
               {human_duration(number_of(user, "waited_seconds").value_or(0))},
               {slot_hours(user, "slot_seconds")},
               {slot_hours(lost, "preemption")},
               {slot_hours(lost, "resize")},
               {slot_hours(lost, "failure")}});
  }
  return table.render(console.look(output.header));
}

}  // namespace

Command users_command() {
  return view_command({"users",
                       "",
                       "Cluster",
                       "What each user's jobs have, waited and lost so far",
                       "paceline users\npaceline users -o json",
                       {}},
                      "/v1/users", draw_users);
}

}  // namespace paceline
