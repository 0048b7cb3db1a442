#include "ring.hpp"

#include <cstring>

namespace paceline::runtime {
namespace {

constexpr std::size_t kRingPiece = std::size_t{128} * 1024;

}  // namespace

// The first chunks have one element more where they can't be alike.
std::span<std::byte> Ring::chunk(int index) const {
  const auto parts = static_cast<std::size_t>(ranks), at = static_cast<std::size_t>(index);
  const std::size_t each = elements.count / parts, more = elements.count % parts;
  const std::size_t begin = at * each + std::min(at, more), count = each + (at < more ? 1 : 0);
  const std::size_t size = size_of(elements.type);
  return {data + begin * size, count * size};
}

RingIn::RingIn(const Ring& ring) : ring_(ring) {
  if (ring.reduced > 0) piece_.resize(std::min(kRingPiece, ring.chunk(0).size()));
  enter(0);
}

void RingIn::enter(int step) {
  offset_ = 0;
  for (step_ = step; step_ < ring_.steps; ++step_) {
    chunk_ = ring_.chunk(ring_.chunk_of(step_));
    if (!chunk_.empty()) return;
  }
}

std::span<std::byte> RingIn::next() {
  if (step_ >= ring_.reduced) return rest();
  const auto room = std::min(piece_.size(), rest().size());
  return std::span(piece_).subspan(filled_, room - filled_);
}

void RingIn::took(std::size_t count) {
  if (step_ >= ring_.reduced) {
    offset_ += count;
    ready_ += count;
  } else {
    filled_ += count;
    combine_whole_elements();
  }
  if (offset_ == chunk_.size()) enter(step_ + 1);
}

// What came whole; a part of an element waits for the rest of it.
void RingIn::combine_whole_elements() {
  const auto& [number, type, op] = ring_.elements;
  const std::size_t count = filled_ / size_of(type), bytes = count * size_of(type);
  std::byte* const into = rest().data();
  combine(into, piece_.data(), into, count, type, op);
  if (op == PACELINE_MEAN && step_ == ring_.reduced - 1) divide(into, count, type, ring_.ranks);
  std::memmove(piece_.data(), piece_.data() + bytes, filled_ - bytes);
  filled_ -= bytes;
  offset_ += bytes;
  ready_ += bytes;
}

void RingOut::enter(int step) {
  offset_ = 0;
  for (step_ = step; step_ < ring_.steps; ++step_) {
    chunk_ = ring_.chunk(ring_.chunk_of(step_ - 1));
    if (!chunk_.empty()) return;
  }
}

std::span<const std::byte> RingOut::next() {
  const auto rest = step_ < ring_.steps ? chunk_.subspan(offset_) : std::span<const std::byte>();
  if (step_ == 0) return rest;
  return rest.first(std::min(rest.size(), in_.ready() - passed_on_));
}

void RingOut::sent(std::size_t count) {
  offset_ += count;
  if (step_ > 0) passed_on_ += count;
  if (offset_ == chunk_.size()) enter(step_ + 1);
}

}  // namespace paceline::runtime
