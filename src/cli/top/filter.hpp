// Which jobs and slots are shown: what is typed behind `/`, and what `paceline top` is given. Words
// that must all hold:
//
//   train          stands in the name, the user or the state, whatever its case; or is the id
//   train*         the name by `*`, `?` and `[…]` as in a shell; also name:train*
//   user:ann       the jobs of that user;  me: one's own
//   state:run      jobs in states that begin so;  RUNNING alone says the same
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/words/document.hpp"

namespace paceline {

class Filter {
 public:
  Filter() = default;
  // `own`: the uid of the caller. Errors: invalid (a word before a colon that isn't known, no such
  // state).
  static Result<Filter> parse(std::string_view text, std::int64_t own);

  [[nodiscard]] bool empty() const { return tests_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool wants(const Document& job) const;

 private:
  enum class Field { any, name, user, state, uid };
  struct Test {
    Field field = Field::any;
    std::string word;  // lower case where the case doesn't matter
    std::int64_t uid = 0;
  };

  static Result<Test> parse_word(const std::string& word, std::int64_t own);
  static bool holds(const Test& test, const Document& job);

  std::string text_;
  std::vector<Test> tests_;
};

}  // namespace paceline
