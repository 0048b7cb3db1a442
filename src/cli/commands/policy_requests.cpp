// Commands that are one request about policies.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/commands/policy_words.hpp"
#include "cli/words/document.hpp"
#include "cli/words/text_file.hpp"
#include "http/url.hpp"
#include "model/script.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

Result<PolicySwitch> read_choice(const PolicyWords& typed) {
  const auto body = choice_body(typed);
  if (!body) return fail(body.error());
  return PolicySwitch{"PUT", "/v1/policy", *body};
}

Result<std::string> script_body(const std::string& path) {
  const auto text = read_text_file(path, kScriptBytesMax, "policy",
                                   "Name a file with a policy: docs/policies.md.");
  if (!text) return fail(text.error());
  if (text->size() > kScriptBytesMax)
    return fail(ErrorCode::too_large, fmt::format("The policy {} is larger than 256 KiB.", path));
  JsonWriter json;
  json.begin_object().field("script", *text).end_object();
  return json.take();
}

Result<int> load_script(Context& context, const std::string& path) {
  const auto body = script_body(path);
  if (!body) return fail(body.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto name = std::filesystem::path(path).stem().string();
  const auto answer = (*api)->put("/v1/policy/" + url_encoded(name), *body);
  if (!answer) return fail(answer.error());
  context.console.print(
      fmt::format("The policy {} is loaded. Activate it with 'paceline policy set {}'.\n",
                  text_of(*answer, "name"), text_of(*answer, "name")));
  return 0;
}

}  // namespace

Command policy_set_command() {
  return {"policy set",
          "",
          "Cluster",
          "Switch the policy; says first what that would stop and lose",
          "paceline policy set elastic-fifo\npaceline policy set fair --yes",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<PolicyWords>();
            declare_choice(options, *typed);
            return switch_action(options, [typed] { return read_choice(*typed); });
          }};
}

Command policy_promote_command() {
  return {"policy promote",
          "",
          "Cluster",
          "Make the policy that is tried the active one",
          "paceline policy promote",
          [](Options& options) {
            return switch_action(options, []() -> Result<PolicySwitch> {
              return PolicySwitch{"POST", "/v1/shadow/promote", "{}"};
            });
          }};
}

Command policy_rollback_command() {
  return {"policy rollback",
          "",
          "Cluster",
          "Go back to the policy and parameters before",
          "paceline policy rollback",
          [](Options& options) {
            return switch_action(options, []() -> Result<PolicySwitch> {
              return PolicySwitch{"POST", "/v1/policy/rollback", "{}"};
            });
          }};
}

Command policy_try_command() {
  return choice_command({"policy try",
                         "",
                         "Cluster",
                         "Let a policy decide every round without effect",
                         "paceline policy try srtf\npaceline policy diff",
                         {}},
                        "/v1/shadow", [](const Document& answer) {
                          return fmt::format(
                              "{} decides in the shadow of {} from now on. 'paceline policy "
                              "diff' shows what it would do.\n",
                              text_of(answer, "name"), text_of(answer, "live"));
                        });
}

Command policy_drop_command() {
  return plain_command(
      {"policy drop", "", "Cluster", "End the trial of a policy", "paceline policy drop", {}},
      [](Api& api) { return api.remove("/v1/shadow"); },
      [](const Document& answer) {
        return fmt::format("{} is tried no more. {} of {} rounds differed.\n",
                           text_of(answer, "name"), whole_of(answer, "differed"),
                           whole_of(answer, "rounds"));
      });
}

Command policy_load_command() {
  return {"policy load",
          "",
          "Cluster",
          "Load a policy of your own, or its edited file again",
          "paceline policy load mine.lua\npaceline policy set mine",
          [](Options& options) -> Action {
            const auto file = std::make_shared<std::vector<std::string>>();
            options.words("FILE", *file, Count::one,
                          "a policy in Lua; its name without the ending is the policy's");
            return [file](Context& context) { return load_script(context, file->front()); };
          }};
}

Command policy_forget_command() {
  return {"policy forget",
          "",
          "Cluster",
          "Forget a policy that was loaded",
          "paceline policy forget mine",
          [](Options& options) -> Action {
            const auto name = std::make_shared<std::vector<std::string>>();
            options.words("NAME", *name, Count::one, "a policy that was loaded");
            return [name](Context& context) -> Result<int> {
              const auto api = context.api();
              if (!api) return fail(api.error());
              const auto done = (*api)->remove("/v1/policy/" + url_encoded(name->front()));
              if (!done) return fail(done.error());
              context.console.print(fmt::format("The policy {} is forgotten.\n", name->front()));
              return 0;
            };
          }};
}

}  // namespace paceline
