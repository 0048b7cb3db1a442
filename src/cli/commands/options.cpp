#include "cli/commands/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/nearest.hpp"

namespace paceline {
namespace {

bool is_dashed(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

// "--slots: 1 required N missing" names the option in front.
std::string option_in(const std::string& complaint) {
  return complaint.substr(0, complaint.find(':'));
}

}  // namespace

Options::Options(std::string_view command) : command_(command), app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag("");
  app_->allow_extras();
  app_->add_flag_callback("-h,--help", [this] { wants_help_ = true; });
}

Options::~Options() = default;

void Options::note(const std::string& names, std::string_view value_name, std::string_view help) {
  help_.push_back({names, std::string(value_name), std::string(help)});
}

void Options::flag(const std::string& names, bool& value, std::string_view help) {
  note(names, "", help);
  app_->add_flag_callback(names, [&value] { value = true; });
}

void Options::value(const std::string& names, std::string_view value_name,
                    std::optional<std::string>& value, std::string_view help) {
  note(names, value_name, help);
  app_->add_option_function<std::string>(names, [&value](const std::string& text) { value = text; })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void Options::values(const std::string& names, std::string_view value_name,
                     std::vector<std::string>& values, std::string_view help) {
  note(names, value_name, help);
  app_->add_option_function<std::vector<std::string>>(
          names, [&values](const std::vector<std::string>& texts) { values = texts; })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::words(std::string_view name, std::vector<std::string>& words, Count count,
                    std::string_view help) {
  words_ = {std::string(name), &words, count, std::string(help)};
}

void Options::command_line(std::vector<std::string>& words) {
  command_line_ = &words;
  app_->prefix_command();
}

void Options::parameters(std::vector<std::string>& words, std::string_view help) {
  parameters_ = &words;
  help_.push_back({"--KEY", "VALUE", std::string(help)});
}

void Options::output(OutputOptions& output, Watchable watchable) {
  value("-o,--output", "FORMAT", output.format, "table, wide, json or name");
  flag("--no-header", output.no_header, "leave the titles out");
  if (watchable == Watchable::no) return;
  flag("-w,--watch", output.watch, "show it again and again, in place on a terminal");
  value("--interval", "TIME", output.interval, "how often (1s)");
}

Error Options::usage(std::string message) const {
  return {ErrorCode::invalid, std::move(message),
          fmt::format("See 'paceline {} --help'.", command_), Retry::useless};
}

Error Options::unknown_option(const std::string& word) const {
  const auto name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const auto& option : help_) names.push_back(option.names.substr(option.names.find("--")));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto near = name.starts_with("--") ? nearest(name, known) : std::nullopt;
  return usage(fmt::format("'{}' has no option '{}'{}", command_, name,
                           near ? fmt::format("; did you mean '{}'?", *near) : "."));
}

Result<Options::Left> Options::parse(std::vector<std::string> arguments) {
  Left left;
  const auto mark = std::ranges::find(arguments, "--");
  if (mark != arguments.end()) left.after.assign(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::ArgumentMismatch& error) {
    return fail(usage(fmt::format("'{}' needs a value.", option_in(error.what()))));
  } catch (const CLI::ParseError& error) {
    return fail(usage(fmt::format("{}.", error.what())));
  }
  left.rest = app_->remaining();
  return left;
}

Result<void> Options::read(std::vector<std::string> arguments) {
  auto left = parse(std::move(arguments));
  if (!left) return fail(std::move(left.error()));
  if (wants_help_) return {};
  const bool unknown = !left->rest.empty() && is_dashed(left->rest.front());
  if (command_line_ == nullptr) return take_words(std::move(*left));
  if (unknown) return fail(unknown_option(left->rest.front()));
  take_command_line(std::move(*left));
  return {};
}

void Options::take_command_line(Left left) {
  *command_line_ = std::move(left.rest);
  if (!command_line_->empty() && !left.after.empty()) command_line_->emplace_back("--");
  command_line_->insert(command_line_->end(), left.after.begin(), left.after.end());
}

Result<void> Options::take_words(Left left) {
  const auto dashed = std::ranges::find_if(left.rest, is_dashed);
  if (dashed != left.rest.end() && parameters_ == nullptr) return fail(unknown_option(*dashed));
  if (parameters_ != nullptr) parameters_->assign(dashed, left.rest.end());
  left.rest.erase(dashed, left.rest.end());
  auto& words = left.rest;
  words.insert(words.end(), left.after.begin(), left.after.end());
  const bool several = words_.count == Count::some || words_.count == Count::any;
  const std::size_t words_max = words_.target == nullptr ? 0 : several ? words.size() : 1;
  if (words.size() > words_max) {
    return fail(usage(fmt::format("'{}' can't make sense of '{}'.", command_, words[words_max])));
  }
  const bool needed = words_.count == Count::one || words_.count == Count::some;
  if (needed && words_.target != nullptr && words.empty()) {
    return fail(usage(fmt::format("'{}' needs {}.", command_, words_.name)));
  }
  if (words_.target != nullptr) *words_.target = std::move(words);
  return {};
}

}  // namespace paceline
