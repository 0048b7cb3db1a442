#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>

#include "cli/commands/shapes.hpp"

namespace paceline {
namespace {

// Words that a shell can complete, and the command that lists them.
struct Kind {
  std::string_view name;
  std::string_view listed_by;  // a line each; empty: nothing does
};

constexpr Kind kFile{"file", {}};
constexpr Kind kOther{"other", {}};
constexpr Kind kJob{"job", "paceline queue --all -o name 2>/dev/null"};
constexpr Kind kNode{"node", "paceline nodes -o name 2>/dev/null"};
constexpr Kind kPolicy{"policy", "paceline policy list -o name 2>/dev/null"};
constexpr Kind kToken{"token", "paceline token list -o name 2>/dev/null"};
constexpr Kind kInvitation{"invitation", "paceline node invitations -o name 2>/dev/null"};
constexpr Kind kContext{"context", "paceline context list -o name 2>/dev/null"};
constexpr std::array kListed = {kJob, kNode, kPolicy, kToken, kInvitation, kContext};

// "ID" and "NAME" are also those of what the command is about.
Kind kind_of_words(const CommandShape& shape) {
  const auto is_about = [&](std::string_view word) {
    return shape.command->name.starts_with(word);
  };
  if (shape.takes_command_line || shape.words == "FILE") return kFile;
  if (shape.words == "ID") return is_about("token ") ? kToken : kJob;
  if (shape.words == "NODE") return kNode;
  if (shape.words == "NAME") return is_about("context ") ? kContext : kPolicy;
  return shape.words == "NUMBER" ? kInvitation : kOther;
}

bool is_path(std::string_view value) {
  return value == "FILE" || value == "DIR" || value == "PATH" || value == "OLD";
}

// "policy" → "list show set …", of commands of two words.
std::map<std::string, std::string> second_words(std::span<const CommandShape> shapes) {
  std::map<std::string, std::string> words;
  for (const auto& shape : shapes) {
    const std::string_view name = shape.command->name;
    const auto space = name.find(' ');
    if (space == std::string_view::npos) continue;
    auto& all = words[std::string(name.substr(0, space))];
    all += fmt::format("{}{}", all.empty() ? "" : " ", name.substr(space + 1));
  }
  return words;
}

std::string first_words(std::span<const CommandShape> shapes) {
  std::string words;
  for (const auto& shape : shapes) {
    const std::string_view name = shape.command->name;
    if (name.find(' ') == std::string_view::npos)
      words += fmt::format("{}{}", words.empty() ? "" : " ", name);
  }
  for (const auto& [word, more] : second_words(shapes)) words += " " + word;
  return words;
}

// In single quotes, for all three shells.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(std::string_view value) {
  return is_path(value) ? fmt::format(":{}:_files", value) : fmt::format(":{}: ", value);
}

std::string zsh_option(const OptionHelp& option) {
  const auto names = names_of(option);
  const std::string about = fmt::format("[{}]{}", escaped(option.text, "[]:\\"),
                                        option.value.empty() ? "" : zsh_action(option.value));
  if (names.size() == 1) return in_quotes(names[0] + about);
  return fmt::format("'({0} {1})'{{{0},{1}}}{2}", names[0], names[1], in_quotes(about));
}

std::string zsh_words(const Kind& kind) {
  if (kind.name == kFile.name) return " '*:: :_files'";
  return kind.listed_by.empty() ? "" : fmt::format(" '*: :_paceline_{}'", kind.name);
}

}  // namespace

std::string bash_completion(std::span<const CommandShape> shapes) {
  std::string text = fmt::format(
      "# bash completion of paceline, made by 'paceline completion bash'\n"
      "_paceline() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local command=${{COMP_WORDS[1]}} options= valued= paths= kind=other second=\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    mapfile -t COMPREPLY < <(compgen -W '{} --help --version --server' -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n",
      first_words(shapes));
  for (const auto& [first, second] : second_words(shapes))
    text += fmt::format("    {}) second='{}' ;;\n", first, second);
  text +=
      "  esac\n"
      "  if [[ $second ]]; then\n"
      "    if ((COMP_CWORD == 2)); then\n"
      "      mapfile -t COMPREPLY < <(compgen -W \"$second\" -- \"$cur\")\n"
      "      return\n"
      "    fi\n"
      "    command=\"$command ${COMP_WORDS[2]}\"\n"
      "  fi\n"
      "  case $command in\n";
  for (const auto& shape : shapes) {
    std::string options, valued, paths;
    for (const auto& option : shape.options) {
      for (const auto& name : names_of(option)) {
        options += name + " ";
        if (!option.value.empty()) (is_path(option.value) ? paths : valued) += " " + name + " ";
      }
    }
    text += fmt::format("    '{}') options='{}--help' valued='{}' paths='{}' kind={} ;;\n",
                        shape.command->name, options, valued, paths, kind_of_words(shape).name);
  }
  text +=
      "  esac\n"
      "  if [[ $paths == *\" $prev \"* ]]; then compopt -o default; return; fi\n"
      "  if [[ $valued == *\" $prev \"* ]]; then return; fi\n"
      "  if [[ $cur == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case $kind in\n";
  for (const Kind& kind : kListed)
    text += fmt::format("    {}) mapfile -t COMPREPLY < <(compgen -W \"$({})\" -- \"$cur\") ;;\n",
                        kind.name, kind.listed_by);
  return text +
         "    file) compopt -o default ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _paceline paceline\n";
}

std::string zsh_completion(std::span<const CommandShape> shapes) {
  std::string text =
      "#compdef paceline\n"
      "# made by 'paceline completion zsh'\n";
  for (const Kind& kind : kListed)
    text += fmt::format(
        "_paceline_{}() {{ local -a names; names=(${{(f)\"$({})\"}}); compadd -a names }}\n",
        kind.name, kind.listed_by);
  text +=
      "_paceline() {\n"
      "  local command=$words[2]\n"
      "  local -a commands\n"
      "  commands=(\n";
  const auto pairs = second_words(shapes);
  for (const auto& shape : shapes) {
    const std::string_view name = shape.command->name;
    if (name.find(' ') == std::string_view::npos)
      text +=
          fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", name, shape.command->summary)));
  }
  for (const auto& [first, second] : pairs)
    text += fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", first, second)));
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  case $command in\n";
  for (const auto& [first, second] : pairs)
    text += fmt::format(
        "    {}) if (( CURRENT == 3 )); then compadd {}; return; fi; command=\"$command "
        "$words[3]\"; shift words; (( CURRENT-- )) ;;\n",
        first, second);
  text +=
      "  esac\n"
      "  shift words; (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const auto& shape : shapes) {
    text += fmt::format("    '{}') _arguments -s", shape.command->name);
    for (const auto& option : shape.options) text += " \\\n      " + zsh_option(option);
    text += fmt::format("{} ;;\n", zsh_words(kind_of_words(shape)));
  }
  return text +
         "  esac\n"
         "}\n"
         "_paceline \"$@\"\n";
}

std::string fish_completion(std::span<const CommandShape> shapes) {
  std::string text =
      "# fish completion of paceline, made by 'paceline completion fish'\n"
      "function __paceline_at --description 'the command typed so far is that'\n"
      "  set -l typed (commandline -opc)[2..-1]\n"
      "  test \"$typed[1..\"(count $argv)\"]\" = \"$argv\"\n"
      "end\n"
      "complete -c paceline -f\n";
  const auto pairs = second_words(shapes);
  for (const auto& shape : shapes) {
    const std::string_view name = shape.command->name;
    if (name.find(' ') == std::string_view::npos)
      text += fmt::format("complete -c paceline -n __fish_use_subcommand -a {} -d {}\n", name,
                          in_quotes(shape.command->summary));
  }
  for (const auto& [first, second] : pairs) {
    text += fmt::format("complete -c paceline -n __fish_use_subcommand -a {}\n", first);
    text += fmt::format(
        "complete -c paceline -n '__paceline_at {}; and test (count (commandline -opc)) -eq 2' -a "
        "'{}'\n",
        first, second);
  }
  for (const auto& shape : shapes) {
    const auto at = fmt::format("complete -c paceline -n '__paceline_at {}'", shape.command->name);
    for (const auto& option : shape.options) {
      text += at;
      for (const auto& name : names_of(option))
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) text += is_path(option.value) ? " -r -F" : " -x";
      text += fmt::format(" -d {}\n", in_quotes(option.text));
    }
    const Kind kind = kind_of_words(shape);
    if (kind.name == kFile.name) text += at + " -F\n";
    if (!kind.listed_by.empty()) text += fmt::format("{} -a '({})'\n", at, kind.listed_by);
  }
  return text;
}

}  // namespace paceline
