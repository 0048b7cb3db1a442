#include "cli/job/shell_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace paceline {
namespace {

// Reads a text from left to right, as a shell would.
class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> read() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return quoted(c);
    if (c == '\\') return escaped();
    ++at_;
    if (c == '#' && !word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else if (std::string_view("\n;&|(){}").find(c) != std::string_view::npos && !in_variable()) {
      end_command();
    } else {
      add(c);
    }
  }

  // Whether the word so far ends in a variable's open brace: "${N".
  [[nodiscard]] bool in_variable() const {
    if (!word_ || word_->empty()) return false;
    const auto open = word_->rfind("${");
    return word_->back() == '$' ||
           (open != std::string::npos && word_->find('}', open) == std::string::npos);
  }

  void quoted(char quote) {
    ++at_;
    if (!word_) word_.emplace();
    while (at_ < text_.size() && text_[at_] != quote) {
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word_->push_back(text_[at_++]);
    }
    ++at_;
  }

  // A newline behind the backslash joins two lines.
  void escaped() {
    if (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') add(text_[at_ + 1]);
    at_ += 2;
  }

  void add(char c) {
    if (!word_) word_.emplace();
    word_->push_back(c);
  }

  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  void end_command() {
    end_word();
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  std::vector<std::string> words_;
  std::vector<std::vector<std::string>> commands_;
};

}  // namespace

std::vector<std::vector<std::string>> simple_commands(std::string_view text) {
  return ShellReader(text).read();
}

bool is_shell(const std::string& program) {
  constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "zsh"};
  const auto name = std::filesystem::path(program).filename().string();
  return std::ranges::find(kShells, name) != kShells.end();
}

std::optional<std::string> shell_text(std::span<const std::string> argv) {
  bool is_text = false;
  std::size_t at = 1;
  for (; at < argv.size() && (argv[at].starts_with('-') || argv[at].starts_with('+')); ++at) {
    const std::string& option = argv[at];
    const bool letters = !option.starts_with("--");
    is_text =
        is_text || (letters && option.front() == '-' && option.find('c') != std::string::npos);
    const bool has_value = letters ? option.find_first_of("oO") != std::string::npos
                                   : option == "--rcfile" || option == "--init-file";
    if (has_value) ++at;
  }
  return is_text && at < argv.size() ? std::optional(argv[at]) : std::nullopt;
}

}  // namespace paceline
