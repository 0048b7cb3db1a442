// Strong integer ids: two ids of different nouns never mix, equal ids compare and hash by value,
// and every order that a decision depends on breaks its ties by id.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace paceline {

template <class Tag, class Rep>
struct Id {
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace paceline

template <class Tag, class Rep>
struct std::hash<paceline::Id<Tag, Rep>> {
  std::size_t operator()(const paceline::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
