#include "head.hpp"

#include <array>

#include "elements.hpp"

namespace paceline::runtime {

std::string describe(const Head& head) {
  constexpr std::array<const char*, 6> kNames{"all_reduce",     "broadcast", "all_gather",
                                              "reduce_scatter", "barrier",   "send or receive"};
  const auto index = static_cast<std::size_t>(head.kind);
  if (index >= kNames.size()) return "no operation";
  const std::string name = kNames[index];
  const auto count = std::to_string(head.count);
  switch (head.kind) {
    case Head::Kind::all_reduce:
    case Head::Kind::reduce_scatter:
      return name + " (" + std::string(name_of(static_cast<paceline_op>(head.op))) + " of " +
             count + " " + std::string(name_of(static_cast<paceline_type>(head.type))) + ")";
    case Head::Kind::broadcast:
      return name + " (" + count + " bytes from rank " + std::to_string(head.root) + ")";
    case Head::Kind::all_gather:
    case Head::Kind::message:
      return name + " (" + count + " bytes)";
    case Head::Kind::barrier:
      return name;
  }
  return name;
}

Failure differing(int own_rank, const Head& mine, int rank, const Head& theirs) {
  const bool same = describe(mine) == describe(theirs);
  const auto place = [&](const Head& head) {
    return describe(head) + (same ? " as its call number " + std::to_string(head.number) : "");
  };
  return {PACELINE_MISMATCH, rank,
          "Rank " + std::to_string(rank) + " calls " + place(theirs) + " where rank " +
              std::to_string(own_rank) + " calls " + place(mine) +
              ". Every rank must make the same calls in the same order."};
}

}  // namespace paceline::runtime
