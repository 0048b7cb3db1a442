#include "cli/job/batch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "base/utf8.hpp"
#include "cli/job/sbatch_options.hpp"
#include "cli/job/shell_words.hpp"
#include "cli/words/text.hpp"
#include "cli/words/text_file.hpp"

namespace paceline {
namespace {

constexpr std::string_view kMark = "#SBATCH";

struct Line {
  std::size_t number = 0;  // from 1
  std::string_view text;   // behind the mark
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Up to the first line that is no comment, as sbatch reads them.
std::vector<Line> sbatch_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kMark)) {
      lines.push_back({number, line.substr(kMark.size())});
    } else if (!trimmed(line).empty() && !line.starts_with('#')) {
      break;
    }
  }
  return lines;
}

// The words of one line, with the words that follow options.
class LineReader {
 public:
  LineReader(std::string place, std::vector<std::string> words, BatchScript& script)
      : place_(std::move(place)), words_(std::move(words)), script_(script) {}

  Result<void> read(SbatchRequest& request) {
    while (at_ < words_.size()) {
      if (auto read = option(request); !read) return read;
    }
    return {};
  }

 private:
  Result<void> option(SbatchRequest& request) {
    auto word = words_[at_++];
    std::optional<std::string> value;
    if (word.starts_with('-') && !word.starts_with("--") && word.size() > 2) {  // "-n4"
      value = word.substr(2);
      word.resize(2);
    } else if (const auto equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const auto* known = find_sbatch_option(word);
    if (known == nullptr) return unknown(word, value);
    if (known->takes_value && !value) {
      if (at_ == words_.size())
        return refuse(word, {ErrorCode::invalid, "A value is missing.", "Write it behind '='.",
                             Retry::useless});
      value = words_[at_++];
    }
    if (!known->says.empty()) note(word, known->says);
    if (known->take == nullptr) return {};
    if (auto taken = known->take(value.value_or(""), request); !taken)
      return refuse(word, std::move(taken.error()));
    return {};
  }

  // Most options that are left have to do with a cluster's own ways.
  Result<void> unknown(const std::string& word, const std::optional<std::string>& value) {
    if (!value && at_ < words_.size() && !words_[at_].starts_with('-')) ++at_;
    note(word, "it means nothing here");
    return {};
  }

  void note(const std::string& word, std::string_view says) {
    script_.notes.push_back(fmt::format("{}: {} is left out: {}.", place_, printable(word), says));
  }

  tl::unexpected<Error> refuse(const std::string& word, Error error) {
    error.message = fmt::format("{}: {}: {}", place_, word, error.message);
    return fail(std::move(error));
  }

  std::string place_;
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  BatchScript& script_;
};

std::vector<std::string> words_in(std::string_view line) {
  const auto commands = simple_commands(line);
  std::vector<std::string> words;
  for (const auto& command : commands) words.insert(words.end(), command.begin(), command.end());
  return words;
}

// What "#!" names, with its argument; else a shell.
std::vector<std::string> interpreter_of(std::string_view text) {
  if (!text.starts_with("#!")) return {"/bin/sh"};
  const auto line = trimmed(text.substr(2, std::min(text.find('\n'), text.size()) - 2));
  const auto blank = std::min(line.find_first_of(" \t"), line.size());
  std::vector<std::string> words = {std::string(line.substr(0, blank))};
  if (const auto argument = trimmed(line.substr(blank)); !argument.empty())
    words.emplace_back(argument);
  return words;
}

// Variables of Slurm's that the script reads and nobody sets.
std::set<std::string> slurm_variables(std::string_view text,
                                      const std::map<std::string, std::string>& given) {
  constexpr std::string_view kPrefix = "SLURM_";
  std::set<std::string> names;
  for (auto at = text.find(kPrefix); at != std::string_view::npos; at = text.find(kPrefix, at)) {
    const auto end =
        std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", at), text.size());
    const bool read = at > 0 && (text[at - 1] == '$' || text[at - 1] == '{');
    const std::string name(text.substr(at, end - at));
    if (read && !given.contains(name)) names.insert(name);
    at = end;
  }
  return names;
}

bool is_regular(const std::string& path) {
  std::error_code ec;
  return std::filesystem::is_regular_file(path, ec);
}

// How the job names its script: with the directory a copy of it travels, to wherever that is laid.
std::string name_of_script(const std::string& typed, const std::string& path, const JobWords& words,
                           const JobWords& script, const std::string& directory) {
  if (!ships(words) || std::filesystem::path(typed).is_absolute()) return path;
  const bool moves = script.workdir && !words.workdir;
  const auto root = std::filesystem::path(directory) / (moves ? *script.workdir : std::string());
  auto inside = std::filesystem::path(path).lexically_relative(root.lexically_normal()).string();
  return inside.empty() || inside.starts_with("..") ? path : inside;
}

}  // namespace

Result<BatchScript> parse_batch_script(const std::string& text, const std::string& path,
                                       const JobWords& given) {
  BatchScript script;
  script.name = printable(std::filesystem::path(path).filename().string());
  SbatchRequest request;
  request.array = given.env.contains("SLURM_ARRAY_TASK_ID");
  for (const auto& line : sbatch_lines(text)) {
    LineReader reader(fmt::format("{}:{}", script.name, line.number), words_in(line.text), script);
    if (auto read = reader.read(request); !read) return fail(std::move(read.error()));
  }
  auto words = words_of(request);
  if (!words) {
    words.error().message = fmt::format("{}: {}", script.name, words.error().message);
    return fail(std::move(words.error()));
  }
  if (const auto why = add_mail(request, *words))
    script.notes.push_back(fmt::format("{}: {}.", script.name, *why));
  if (!words->name) words->name = std::filesystem::path(path).stem().string();
  if (auto judged = judge_words(*words); !judged) {
    judged.error().message = fmt::format("{}: {}", script.name, judged.error().message);
    return fail(std::move(judged.error()));
  }
  script.words = std::move(*words);
  script.words.command = interpreter_of(text);
  script.words.command.push_back(path);
  script.launcher = find_launcher(text);
  auto variables = script.words.env;
  variables.insert(given.env.begin(), given.env.end());
  if (const auto unset = slurm_variables(text, variables); !unset.empty()) {
    script.notes.push_back(
        fmt::format("{} reads {}, which Paceline does not set: give a value with --env.",
                    script.name, listed({unset.begin(), unset.end()})));
  }
  return script;
}

Result<std::optional<BatchScript>> find_batch_script(const JobWords& words,
                                                     const std::string& directory) {
  if (words.shell || words.command.empty()) return std::nullopt;
  const bool behind_shell = words.command.size() > 1 && is_shell(words.command.front());
  const std::size_t at = behind_shell ? 1 : 0;
  const auto path =
      (std::filesystem::path(directory) / words.command[at]).lexically_normal().string();
  if (!is_regular(path)) return std::nullopt;
  const auto text = read_text_file(path, kBatchScriptBytesMax, "script", "Name another script.");
  // What can't be read, is long or is no script is a program like any other.
  if (!text || text->size() > kBatchScriptBytesMax) return std::nullopt;
  if (!behind_shell && !text->starts_with("#!")) return std::nullopt;
  if (sbatch_lines(*text).empty()) return std::nullopt;
  auto script = parse_batch_script(to_utf8(*text), path, words);
  if (!script) return fail(std::move(script.error()));
  auto& command = script->words.command;
  if (behind_shell) command = {words.command.front(), path};
  command.back() = name_of_script(words.command[at], path, words, script->words, directory);
  command.insert(command.end(), words.command.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                 words.command.end());
  return std::optional(std::move(*script));
}

}  // namespace paceline
