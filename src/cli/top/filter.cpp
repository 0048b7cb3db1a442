#include "cli/top/filter.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/nearest.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 3> kFields = {"name", "user", "state"};

// ASCII alone: states and most names.
std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

bool is_pattern(std::string_view word) { return word.find_first_of("*?[") != word.npos; }

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool begins_a_state(const std::string& word) {
  return std::ranges::any_of(kJobStates, [&](JobState state) {
    return lower(std::string(to_string(state))).starts_with(word);
  });
}

Error unknown_field(std::string_view field) {
  const auto near = nearest(field, kFields);
  return {ErrorCode::invalid,
          fmt::format("'{}:' is no word of a filter{}", field,
                      near ? fmt::format("; did you mean '{}:'?", *near) : "."),
          "Words are train, name:train*, user:ann, state:RUNNING and me.", Retry::useless};
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text, std::int64_t own) {
  Filter filter;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    auto test = parse_word(word, own);
    if (!test) return fail(std::move(test.error()));
    filter.tests_.push_back(std::move(*test));
    filter.text_ += (filter.text_.empty() ? "" : " ") + word;
  }
  return filter;
}

Result<Filter::Test> Filter::parse_word(const std::string& word, std::int64_t own) {
  if (word == "me") return Test{Field::uid, {}, own};
  const auto colon = word.find(':');
  if (colon == word.npos) {
    if (parse_job_state(word)) return Test{Field::state, lower(word)};
    return is_pattern(word) ? Test{Field::name, word} : Test{Field::any, lower(word)};
  }
  const auto field = word.substr(0, colon), value = word.substr(colon + 1);
  if (field == "name")
    return is_pattern(value) ? Test{Field::name, value} : Test{Field::name, "*" + value + "*"};
  if (field == "user") return Test{Field::user, value};
  if (field != "state") return fail(unknown_field(field));
  if (begins_a_state(lower(value))) return Test{Field::state, lower(value)};
  return fail(
      ErrorCode::invalid, fmt::format("'{}' is no state.", value),
      "States are PENDING, STARTING, RUNNING, RESIZING, PAUSED, STOPPING, COMPLETED, FAILED, "
      "CANCELLED and TIMEOUT.");
}

bool Filter::holds(const Test& test, const Document& job) {
  const auto state = lower(text_of(job, "state"));
  switch (test.field) {
    case Field::uid:
      return whole_of(job, "uid") == test.uid;
    case Field::name:
      return matches(test.word, text_of(job, "name"));
    case Field::user:
      return text_of(job, "user").starts_with(test.word);
    case Field::state:
      return state.starts_with(test.word);
    case Field::any:
      break;
  }
  return lower(text_of(job, "name")).find(test.word) != std::string::npos ||
         lower(text_of(job, "user")).find(test.word) != std::string::npos ||
         state.starts_with(test.word) || std::to_string(whole_of(job, "id")) == test.word;
}

bool Filter::wants(const Document& job) const {
  return std::ranges::all_of(tests_, [&](const Test& test) { return holds(test, job); });
}

}  // namespace paceline
