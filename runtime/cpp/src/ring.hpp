// The stream of chunks around a ring: each member sends to the next what came from the one before, as
// soon as a piece of it is there.
//
// In step s a member receives the chunk `first - s`, modulo their number, and sends the chunk that it
// received in the step before; in step 0 the chunk `first + 1`, its own. In the first `reduced` steps
// what comes is reduced with what is there; in the others it takes its place.
#pragma once

#include <algorithm>
#include <vector>

#include "elements.hpp"
#include "flow.hpp"

namespace paceline::runtime {

struct Ring {
  std::byte* data = nullptr;
  Elements elements;
  int ranks = 1;
  int first = 0;
  int reduced = 0, steps = 0;

  [[nodiscard]] int chunk_of(int step) const { return ((first - step) % ranks + ranks) % ranks; }
  [[nodiscard]] std::span<std::byte> chunk(int index) const;
};

class RingIn final : public Sink {
 public:
  explicit RingIn(const Ring& ring);

  std::span<std::byte> next() override;
  void took(std::size_t count) override;
  [[nodiscard]] bool done() const override { return step_ == ring_.steps; }
  // Bytes that are as they are to be sent.
  [[nodiscard]] std::size_t ready() const { return ready_; }

 private:
  [[nodiscard]] std::span<std::byte> rest() const { return chunk_.subspan(offset_); }
  void combine_whole_elements();
  void enter(int step);

  const Ring& ring_;
  std::vector<std::byte> piece_;  // of what is reduced
  std::size_t filled_ = 0;
  int step_ = -1;
  std::span<std::byte> chunk_;
  std::size_t offset_ = 0, ready_ = 0;
};

class RingOut final : public Source {
 public:
  RingOut(const Ring& ring, const RingIn& in) : ring_(ring), in_(in) { enter(0); }

  std::span<const std::byte> next() override;
  void sent(std::size_t count) override;
  [[nodiscard]] bool done() const override { return step_ == ring_.steps; }

 private:
  void enter(int step);

  const Ring& ring_;
  const RingIn& in_;
  int step_ = 0;
  std::span<const std::byte> chunk_;
  std::size_t offset_ = 0, passed_on_ = 0;
};

}  // namespace paceline::runtime
