// Tells in the server's log of machines and people elsewhere that were turned away: what one address was
// told once in ten minutes, and a few lines a minute at most, however many knock. Those that were left out
// are counted in the next line.
//
//   TurnedAway turned_away(clock, [](const std::string& line) { spdlog::warn("{}", line); });
//   turned_away.note("10.0.0.7", "This join token was used up.");
//   → "10.0.0.7 is turned away: This join token was used up."
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "clock/clock.hpp"

namespace paceline {

class TurnedAway {
 public:
  static constexpr Duration kAgainAfter = std::chrono::minutes{10};
  static constexpr std::size_t kLinesAMinute = 10;

  // REQUIRES: `clock` outlives it.
  TurnedAway(Clock& clock, std::function<void(const std::string& line)> say)
      : clock_(clock), say_(std::move(say)) {}

  // `why` is a sentence.
  void note(std::string_view from, std::string_view why);

 private:
  using Told = std::pair<std::string, std::string>;  // from, why

  [[nodiscard]] bool has_room(Time now);

  Clock& clock_;
  std::function<void(const std::string& line)> say_;
  std::map<Told, Time> told_;  // in the last ten minutes
  Time minute_began_{};
  std::size_t lines_ = 0;  // since then
  std::size_t left_out_ = 0;
};

}  // namespace paceline
