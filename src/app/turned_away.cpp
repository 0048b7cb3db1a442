#include "app/turned_away.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.hpp"

namespace paceline {

void TurnedAway::note(std::string_view from, std::string_view why) {
  const Time now = clock_.now();
  std::erase_if(told_, [&](const auto& entry) { return now - entry.second >= kAgainAfter; });
  Told told{printable(from), printable(why)};
  if (told_.contains(told)) return;
  if (!has_room(now)) {
    ++left_out_;
    return;
  }
  const auto others = std::exchange(left_out_, 0);
  say_(fmt::format("{} is turned away: {}{}", told.first, told.second,
                   others == 0 ? "" : fmt::format(" (So were {} others before.)", others)));
  told_.emplace(std::move(told), now);
}

bool TurnedAway::has_room(Time now) {
  if (lines_ == 0 || now - minute_began_ >= std::chrono::minutes{1}) {
    minute_began_ = now;
    lines_ = 0;
  }
  return ++lines_ <= kLinesAMinute;
}

}  // namespace paceline
