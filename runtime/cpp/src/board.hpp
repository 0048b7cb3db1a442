// Memory that the members of a group on one host share: they reduce there, without copies through the
// kernel.
//
// Data go in chunks, of which each member has a part to reduce. It copies the parts of the others into a
// place of its own, reduces its part over the places of all, into a common place, and copies the whole
// chunk out of that. Two chunks are under way at a time. What is small every member reduces as a whole,
// which saves a wait. Tensors that lie apart go as one: nothing is copied to bring them together.
//
// Counters say how far each member is; a member that waits for one sleeps in poll() until its doorbell rings, so
// that a death, an abort and a time limit end it as everywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "descriptor.hpp"
#include "elements.hpp"
#include "failure.hpp"
#include "head.hpp"
#include "links.hpp"
#include "walk.hpp"

namespace paceline::runtime {

class Collectives;

class Board {
 public:
  static constexpr std::size_t kWhole =
      std::size_t{16} * 1024;  // bytes up to which each reduces all of them

  // Every member calls it, once all are connected. Nothing: they run on several hosts, are too many, or
  // one of them can't share memory.
  static Outcome<std::unique_ptr<Board>> open(Links& links, Collectives& collectives);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Before each operation of the group, whether it goes over the board or not: a member that
  // calls another one is found out by those that wait.
  void begin(const Head& head);
  Outcome<void> all_reduce(std::byte* data, const Elements& elements, const Head& head);
  // Of tensors as if they lay side by side. REQUIRES: in all they are `elements`, and more than kWhole
  // bytes.
  Outcome<void> all_reduce(std::span<const Walk::Piece> tensors, const Elements& elements,
                           const Head& head);
  Outcome<void> barrier(const Head& head);

 private:
  using HeadWords = std::array<std::atomic<std::uint64_t>, sizeof(Head) / sizeof(std::uint64_t)>;
  // Of a member: how far it is, in chunks since the group began, and the heads of its last two operations.
  struct alignas(128) Member {
    std::atomic<std::uint64_t> posted, reduced, taken;
    std::atomic<std::uint32_t> sleeps;
    std::atomic<std::uint64_t> begins,
        begun;                       // number of the last, before and after its head was written
    std::array<HeadWords, 2> heads;  // by the parity of the number
  };
  using Counter = std::atomic<std::uint64_t> Member::*;

  explicit Board(Links& links);

  Outcome<void> exchange(Descriptor& memory);
  bool map(const Descriptor& memory);
  [[nodiscard]] Member& member(int rank) const;
  [[nodiscard]] std::byte* place(int rank, std::uint64_t chunk) const;
  [[nodiscard]] std::byte* common(std::uint64_t chunk) const;

  struct Part {  // of a chunk, in bytes
    std::size_t begin, size;
  };
  [[nodiscard]] Part own_part(std::size_t chunk_size, const Elements& elements) const;
  // May the member's place be filled with this chunk?
  Outcome<void> wait_for_place(std::uint64_t chunk, const Head& head);
  // The next `size` bytes of `from`, but for the member's own part.
  Outcome<void> post(Walk& from, std::size_t size, std::uint64_t chunk, const Elements& elements,
                     const Head& head);
  // Into the next of `into`.
  Outcome<void> reduce(Walk& into, std::size_t size, std::uint64_t chunk, const Elements& elements,
                       const Head& head);
  Outcome<void> reduce_whole(std::span<std::byte> bytes, std::uint64_t chunk,
                             const Elements& elements, const Head& head);
  Outcome<void> wait_for_all(Counter counter, std::uint64_t value, const Head& head);
  void publish(Counter counter, std::uint64_t value);
  [[nodiscard]] std::optional<Failure> differing(const Head& head) const;

  Links& links_;
  const int rank_, size_;
  const std::size_t bytes_;
  std::byte* memory_ = nullptr;
  std::vector<Descriptor> doorbells_;  // of all members
  std::uint64_t chunk_ = 0;            // chunks begun
};

}  // namespace paceline::runtime
