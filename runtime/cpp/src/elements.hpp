// What collectives compute, element by element.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "paceline/runtime.h"

namespace paceline::runtime {

struct Elements {
  std::size_t count = 0;
  paceline_type type{};
  paceline_op op{};
};

// Of one element, in bytes. 0: no such type.
std::size_t size_of(paceline_type type);
bool is_known(paceline_op op);
std::string_view name_of(paceline_type type);
std::string_view name_of(paceline_op op);

// into = a op b. `into` may be a or b. PACELINE_MEAN adds, as PACELINE_SUM does.
void combine(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count,
             paceline_type type, paceline_op op);
// into = the first of `all` op the second op … `into` may be the first. With PACELINE_MEAN it is their mean.
// REQUIRES: there are two at least, of elements.count each.
void combine_all(std::byte* into, std::span<const std::byte* const> all, const Elements& elements);
// Makes a mean of the sum over so many ranks.
void divide(std::byte* data, std::size_t count, paceline_type type, int ranks);

}  // namespace paceline::runtime
