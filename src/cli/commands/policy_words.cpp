#include "cli/commands/policy_words.hpp"

#include <fmt/format.h>
#include "cli/commands/kinds.hpp"

#include <map>
#include <vector>

#include "wire/json_writer.hpp"

namespace paceline {
namespace {

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

void declare_choice(Options& options, PolicyWords& typed) {
  options.words("NAME", typed.name, Count::one, "a policy of 'paceline policy list'");
  options.parameters(typed.parameters, "a parameter of the policy; may be repeated");
}

Result<std::string> choice_body(const PolicyWords& typed) {
  const auto parameters = read_parameters(typed.parameters);
  if (!parameters) return fail(parameters.error());
  return body_of(typed.name.front(), *parameters);
}

Command choice_command(Command command, std::string_view target, const Tell& tell) {
  command.declare = [target = std::string(target), tell](Options& options) -> Action {
    const auto typed = std::make_shared<PolicyWords>();
    declare_choice(options, *typed);
    return [typed, target, tell](Context& context) -> Result<int> {
      const auto body = choice_body(*typed);
      if (!body) return fail(body.error());
      const auto api = context.api();
      if (!api) return fail(api.error());
      const auto answer = (*api)->put(target, *body);
      if (!answer) return fail(answer.error());
      context.console.print(tell(*answer));
      return 0;
    };
  };
  return command;
}

}  // namespace paceline
