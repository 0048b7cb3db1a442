// The operations of a group. Which algorithm runs depends on the size and the number of
// ranks alone; each element is reduced by one rank, or by all in one order, so all get the same bits.
//
//   all_reduce and barrier of a group on one host go over the board (board.hpp); else
//
//   all_reduce   up to 16 KiB   recursive doubling       log2(p) messages, each of everything
//                up to 512 KiB  halving and doubling     2 log2(p) messages, twice everything in all
//                above          ring                     2 (p - 1) messages, twice everything in all
//   broadcast    up to 64 KiB   binomial tree; above: a chain, through which pieces pass
//   all_gather, reduce_scatter  ring
//   barrier                     dissemination
//
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005);
// Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization (1988).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "board.hpp"
#include "elements.hpp"
#include "failure.hpp"
#include "links.hpp"

namespace paceline::runtime {

class Collectives {
 public:
  // REQUIRES: the links outlive it.
  explicit Collectives(Links& links);
  // Once all members are connected. Those of one host reduce in shared memory from now on.
  Outcome<void> begin();

  Outcome<void> all_reduce(std::byte* data, const Elements& elements);
  Outcome<void> all_reduce_many(std::span<std::byte* const> data,
                                std::span<const std::size_t> counts, paceline_type type,
                                paceline_op op);
  Outcome<void> broadcast(std::span<std::byte> data, int root);
  Outcome<void> all_gather(std::span<const std::byte> mine, std::byte* all);
  Outcome<void> reduce_scatter(const std::byte* all, std::byte* mine, const Elements& elements);
  Outcome<void> barrier();
  Outcome<void> send(std::span<const std::byte> data, int to);
  Outcome<void> receive(std::span<std::byte> data, int from);

 private:
  Outcome<void> double_up(std::byte* data, const Elements& elements, Head head);
  Outcome<void> halve_and_double(std::byte* data, const Elements& elements, Head head);
  Outcome<void> fold_in(std::byte* data, const Elements& elements, Head& head);
  Outcome<void> unfold(std::span<std::byte> data, Head& head);
  Outcome<void> exchange(int peer, std::span<const std::byte> mine, std::span<std::byte> theirs,
                         Head& head);
  [[nodiscard]] Head head(Head::Kind kind, const Elements& elements, int root = -1);
  [[nodiscard]] std::span<std::byte> scratch(std::size_t size);

  Links& links_;
  std::unique_ptr<Board> board_;  // nothing: there is none
  const int rank_, size_;
  std::uint64_t number_ = 0;
  std::vector<std::uint64_t> messages_to_, messages_from_;
  std::vector<std::byte> scratch_, fused_;  // kept: fresh memory costs more than what is done in it
};

}  // namespace paceline::runtime
