// For tests of placers: seats as text.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "model/state.hpp"

namespace paceline {

// "n-0:0 n-0:1": node and slots in rank order; "none" without seats.
inline std::string text_of(const State& state, const std::optional<Placement>& placement) {
  if (!placement) return "none";
  std::string text;
  for (const Seat& seat : *placement) {
    text += fmt::format("{}{}:", text.empty() ? "" : " ", state.find_node(seat.node)->spec.name);
    for (std::size_t i = 0; i < seat.slots.size(); ++i)
      text += fmt::format("{}{}", i > 0 ? "," : "", seat.slots[i]);
  }
  return text;
}

}  // namespace paceline
