// What a command accepts, declared once: used to read the arguments (by CLI11, behind this header)
// and to write its help. Values arrive as the words that were typed; commands give them a meaning.
//
// CLI11 finds the options and their values in the arguments, and nothing here does that again. Numbers
// and units are read in words/units.hpp, as in job files. The help is made of the same declarations
// as the completions and the page paceline(1). The words behind the options, "--" and the nearest known
// option are ours: CLI11 doesn't tell what stood before "--" from what stood behind it, and names no
// option that may have been meant.
//
//   options.flag("-f,--follow", follow, "go on as the job writes");
//   options.value("--rank", "N", rank, "only this worker");
//   options.words("ID", ids, Count::some, "ids of jobs");
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/words/output.hpp"

namespace CLI {
class App;
}

namespace paceline {

enum class Count { one, optional, some, any };

// One line of a command's help.
struct OptionHelp {
  std::string names;  // "-f,--follow"
  std::string value;  // "N"; empty for flags
  std::string text;
};

class Options {
 public:
  // `command`: "policy set".
  explicit Options(std::string_view command);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  void flag(const std::string& names, bool& value, std::string_view help);
  // Given twice, the last one counts.
  void value(const std::string& names, std::string_view value_name,
             std::optional<std::string>& value, std::string_view help);
  // May be given again and again.
  void values(const std::string& names, std::string_view value_name,
              std::vector<std::string>& values, std::string_view help);
  // Arguments without a dash. REQUIRES: called once per command.
  void words(std::string_view name, std::vector<std::string>& words, Count count,
             std::string_view help);
  // Everything from the first word that is no option, or from "--": a command to run.
  void command_line(std::vector<std::string>& words);
  // Unknown "--key value" and "--key=value" after the words, as they stand.
  void parameters(std::vector<std::string>& words, std::string_view help);
  // -o, --no-header, and where `watchable` -w and --interval.
  void output(OutputOptions& output, Watchable watchable);

  struct Words {
    std::string name;
    std::vector<std::string>* target = nullptr;
    Count count = Count::any;
    std::string help;
  };

  [[nodiscard]] const std::vector<OptionHelp>& help() const { return help_; }
  [[nodiscard]] const Words& declared_words() const { return words_; }
  [[nodiscard]] bool takes_command_line() const { return command_line_ != nullptr; }
  [[nodiscard]] bool takes_parameters() const { return parameters_ != nullptr; }

  // Reads what stands behind the command. Errors: invalid (an unknown option, with the nearest
  // known one; a value, a word or a command missing or too many).
  Result<void> read(std::vector<std::string> arguments);
  // True if -h or --help was among them; then nothing was checked.
  [[nodiscard]] bool wants_help() const { return wants_help_; }

 private:
  // What CLI11 left: `rest` before "--", `after` behind it.
  struct Left {
    std::vector<std::string> rest;
    std::vector<std::string> after;
  };

  void note(const std::string& names, std::string_view value_name, std::string_view help);
  Result<Left> parse(std::vector<std::string> arguments);
  Result<void> take_words(Left left);
  void take_command_line(Left left);
  [[nodiscard]] Error usage(std::string message) const;
  [[nodiscard]] Error unknown_option(const std::string& word) const;

  std::string command_;
  std::unique_ptr<CLI::App> app_;
  std::vector<OptionHelp> help_;
  bool wants_help_ = false;
  Words words_;
  std::vector<std::string>* command_line_ = nullptr;
  std::vector<std::string>* parameters_ = nullptr;
};

}  // namespace paceline
