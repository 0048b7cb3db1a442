// Invitations: what is typed on another machine, so that it becomes a node.
#include <fmt/format.h>

#include <limits>

#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/commands/node_words.hpp"
#include "cli/words/labels.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::string_view kInvitations = "/v1/invitations";
constexpr std::string_view kInvitedFor = "1h";
constexpr std::int64_t kUsesMax = 10'000;

struct InviteWords {
  std::optional<std::string> expires, uses, rack, network_switch;
  std::vector<std::string> labels;
  OutputOptions output;
};

tl::unexpected<Error> refused(std::string_view option, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", option, error.message), error.hint);
}

void write_place(JsonWriter& json, const InviteWords& typed, const Labels& labels) {
  json.field("rack", typed.rack).field("switch", typed.network_switch);
  json.key("labels").begin_object();
  for (const auto& [key, value] : labels) json.field(key, value);
  json.end_object();
}

Result<std::string> wish_of(const InviteWords& typed) {
  const auto lifetime = parse_duration(typed.expires.value_or(std::string(kInvitedFor)));
  if (!lifetime) return refused("--expires", lifetime.error());
  const auto uses = parse_whole(typed.uses.value_or("1"), {1, kUsesMax});
  if (!uses) return refused("--uses", uses.error());
  const auto labels = read_labels(typed.labels);
  if (!labels) return refused("--label", labels.error());
  if (auto ok = validate_place("rack", typed.rack.value_or("")); !ok)
    return refused("--rack", ok.error());
  if (auto ok = validate_place("switch", typed.network_switch.value_or("")); !ok)
    return refused("--switch", ok.error());
  JsonWriter json;
  json.begin_object().field("expires_seconds", *lifetime).field("uses", *uses);
  write_place(json, typed, *labels);
  json.end_object();
  return json.take();
}

// The line to paste goes to standard output alone, so that it can be kept by a pipe.
Result<int> invite(Context& context, const InviteWords& typed) {
  const auto output = read_output(typed.output);
  if (!output) return fail(output.error());
  const auto wish = wish_of(typed);
  if (!wish) return fail(wish.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto made = (*api)->post(std::string(kInvitations), *wish);
  if (!made) return fail(made.error());
  if (output->format == Format::json) {
    context.console.print(json_text(*made, context.console));
    return 0;
  }
  context.console.note(fmt::format(
      "Invitation {} for {}, until {}. It is shown this once; on the other machine type:",
      whole_of(*made, "id"),
      plural(static_cast<std::uint64_t>(whole_of(*made, "uses_left")), "machine"),
      utc_time(number_of(*made, "expires_at").value_or(0))));
  context.console.print(fmt::format("echo {} | paceline agent --join {} --token -\n",
                                    text_of(*made, "token"), text_of(*made, "address")));
  return 0;
}

std::string draw_invitations(const Document& answer, const Output& output, const Console& console) {
  std::string ids;
  Table table({{"ID", Align::right},
               {"LEFT", Align::right},
               {"RACK", Align::left, 0, 4},
               {"SWITCH", Align::left, 0, 3},
               {"LABELS", Align::left, 8, 5},
               {"MADE", Align::left, 0, 2},
               {"BY", Align::left, 0, 1},
               {"EXPIRES"}});
  for (const auto& each : list_of(answer, "invitations")) {
    const auto id = std::to_string(whole_of(each, "id"));
    ids += id + "\n";
    const bool over = flag_of(each, "expired");
    const auto time = [&](std::string_view key) {
      return utc_time(number_of(each, key).value_or(0));
    };
    table.add({{id},
               {std::to_string(whole_of(each, "uses_left"))},
               {or_dash(text_of(each, "rack"))},
               {or_dash(text_of(each, "switch"))},
               {or_dash(labels_of(each))},
               {time("made_at")},
               {text_of(each, "made_by")},
               {over ? "expired" : time("expires_at"), over ? Style::dim : Style::plain}});
  }
  return output.format == Format::name ? ids : table.render(console.look(output.header));
}

Result<int> take_back(Context& context, const std::vector<std::string>& ids) {
  return for_each_word(context, ids, [&](Api& api, const std::string& id) -> Result<int> {
    if (!parse_whole(id, {1, std::numeric_limits<std::uint32_t>::max()}))
      return fail(ErrorCode::invalid, fmt::format("'{}' is not an invitation's number.", id),
                  "'paceline node invitations' shows them.");
    const auto gone = api.remove(fmt::format("{}/{}", kInvitations, id));
    if (!gone) return fail(gone.error());
    context.console.print(
        fmt::format("Invitation {} is revoked; nodes that joined by it stay.\n", id));
    return 0;
  });
}

}  // namespace

Command node_invite_command() {
  return {"node invite",
          "",
          "Nodes",
          "Print the line by which another machine joins this server",
          "paceline node invite\n"
          "paceline node invite --uses 8 --expires 1d --rack r1 --label disk=nvme",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<InviteWords>();
            options.value("--expires", "TIME", typed->expires, "how long it holds (1h)");
            options.value("--uses", "N", typed->uses, "how many machines may join by it (1)");
            options.values("--label", "KEY=VALUE", typed->labels,
                           "what the machine is called by; again and again");
            options.value("--rack", "NAME", typed->rack, "where it stands");
            options.value("--switch", "NAME", typed->network_switch, "the one above its rack");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) { return invite(context, *typed); };
          }};
}

Command node_invitations_command() {
  return view_command({"node invitations",
                       "",
                       "Nodes",
                       "List the invitations that were made",
                       "paceline node invitations\npaceline node invitations -o json",
                       {}},
                      kInvitations, draw_invitations);
}

Command node_revoke_command() {
  return {"node revoke",
          "",
          "Nodes",
          "Make an invitation worthless",
          "paceline node revoke 3",
          [](Options& options) -> Action {
            const auto ids = std::make_shared<std::vector<std::string>>();
            options.words("NUMBER", *ids, Count::some, "of invitations");
            return [ids](Context& context) { return take_back(context, *ids); };
          }};
}

}  // namespace paceline
