// What ranks add up one after the other.
#pragma once

#include <cstddef>
#include <span>

#include "paceline/runtime.hpp"

namespace paceline::detail {

// `total` goes from rank to rank; each changes it by `add()`. It becomes what the last rank leaves, on
// every rank. What rank 0 has in it is the start. Throws GroupError.
template <class Add>
void in_turn(Group& group, std::span<std::byte> total, Add add) {
  if (group.rank() > 0) group.receive(total, group.rank() - 1);
  add();
  if (group.size() == 1) return;
  if (group.rank() + 1 < group.size())
    group.send(std::span<const std::byte>(total), group.rank() + 1);
  group.broadcast(total, group.size() - 1);
}

}  // namespace paceline::detail
