#include <fmt/format.h>

#include <map>

#include "cli/command.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

struct Set {
  std::vector<std::string> name;
  std::vector<std::string> parameters;
};

// "--key value" and "--key=value" pairs; "--key" alone, or before another one, is true.
Result<std::map<std::string, std::string>> read_parameters(const std::vector<std::string>& words) {
  std::map<std::string, std::string> parameters;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (!word.starts_with("--") || word.size() == 2) {
      return fail(ErrorCode::invalid, fmt::format("'{}' belongs to no parameter.", word),
                  "Write parameters as --KEY VALUE.");
    }
    const auto equals = word.find('=');
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
    const auto key = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (equals != std::string::npos)
      parameters[key] = word.substr(equals + 1);
    else
      parameters[key] = has_value ? words[++i] : "true";
  }
  return parameters;
}

std::string body_of(const std::string& name, const std::map<std::string, std::string>& parameters) {
  JsonWriter json;
  json.begin_object().field("name", name).key("parameters").begin_object();
  for (const auto& [key, value] : parameters) json.field(key, value);
  json.end_object().end_object();
  return json.take();
}

}  // namespace

Command policy_set_command() {
  return {
      "policy set",
      "",
      "Cluster",
      "Switch the policy; nothing restarts",
      "paceline policy set elastic-fifo",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<Set>();
        options.words("NAME", typed->name, Count::one, "a policy of 'paceline policy list'");
        options.parameters(typed->parameters, "a parameter of the policy; may be repeated");
        return [typed](Context& context) -> Result<int> {
          const auto parameters = read_parameters(typed->parameters);
          if (!parameters) return fail(parameters.error());
          const auto api = context.api();
          if (!api) return fail(api.error());
          const auto answer = (*api)->put("/v1/policy", body_of(typed->name.front(), *parameters));
          if (!answer) return fail(answer.error());
          context.console.print(fmt::format("The policy is {} now; it was {}. Nothing restarts.\n",
                                            text_of(member(*answer, "active"), "name"),
                                            text_of(member(*answer, "previous"), "name")));
          return 0;
        };
      }};
}

}  // namespace paceline
