// What the columns of a trace of one's own mean, in words: "submitted_at=when,slots=gpus". On the
// left a column of the format `paceline`, on the right what the file calls it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline::sim {

struct OwnColumn {
  std::string name;  // as the format calls it
  std::string column;
  friend bool operator==(const OwnColumn&, const OwnColumn&) = default;
};

// Errors: invalid (no such column of the format, nothing on one side, one named twice).
Result<std::vector<OwnColumn>> parse_own_columns(std::string_view text);

}  // namespace paceline::sim
