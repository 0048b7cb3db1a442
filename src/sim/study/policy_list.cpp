#include "sim/study/policy_list.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::sim {
namespace {

constexpr std::string_view kScript = ".lua";

tl::unexpected<Error> no_policy(std::string_view text) {
  return fail(ErrorCode::invalid, fmt::format("'{}' is no policy with its parameters.", text),
              "Give names, for example 'fifo,las(queues=2,threshold=3600)'.");
}

// Up to the next comma outside parentheses, which is taken off as well.
std::string_view take_word(std::string_view& text) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < text.size() && (depth > 0 || text[end] != ','); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')') --depth;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

// A part without a name belongs to the value before it.
Result<Parameters> parse_parameters(std::string_view text) {
  Parameters parameters;
  std::string* value = nullptr;
  while (!text.empty()) {
    const std::string_view part = take_word(text);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos && value != nullptr) {
      value->append(",").append(part);
      continue;
    }
    if (equals == std::string_view::npos || equals == 0) return no_policy(part);
    const auto [at, fresh] = parameters.emplace(part.substr(0, equals), part.substr(equals + 1));
    if (!fresh) return no_policy(part);
    value = &at->second;
  }
  return parameters;
}

Result<PolicyChoice> parse_choice(std::string_view word) {
  PolicyChoice choice;
  const std::size_t open = std::min(word.find('('), word.size());
  choice.name = word.substr(0, open);
  if (choice.name.empty()) return no_policy(word);
  if (open == word.size()) return choice;
  if (!word.ends_with(')')) return no_policy(word);
  auto parameters = parse_parameters(word.substr(open + 1, word.size() - open - 2));
  if (!parameters) return fail(parameters.error());
  choice.parameters = std::move(*parameters);
  return choice;
}

Result<void> load_script(PolicyChoice& choice, const PolicyRegistry& registry,
                         const ReadScript& read_script) {
  auto text = read_script(choice.name);
  if (!text) return fail(text.error());
  choice.script = std::move(*text);
  choice.name = choice.name.substr(choice.name.rfind('/') + 1);
  choice.name.resize(choice.name.size() - kScript.size());
  if (auto made = registry.load(choice.name, choice.script, choice.parameters); !made)
    return fail(made.error());
  return {};
}

}  // namespace

Result<std::vector<PolicyChoice>> parse_policies(std::string_view text,
                                                 const PolicyRegistry& registry,
                                                 const ReadScript& read_script) {
  std::vector<PolicyChoice> choices;
  if (text.ends_with(',')) return no_policy("");
  do {
    auto choice = parse_choice(take_word(text));
    if (!choice) return fail(choice.error());
    if (choice->name.ends_with(kScript)) {
      if (auto ok = load_script(*choice, registry, read_script); !ok) return fail(ok.error());
    } else if (auto made = registry.make(choice->name, choice->parameters); !made) {
      return fail(made.error());
    }
    choices.push_back(std::move(*choice));
  } while (!text.empty());
  return choices;
}

}  // namespace paceline::sim
