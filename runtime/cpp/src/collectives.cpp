#include "collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "elements.hpp"
#include "flow.hpp"
#include "ring.hpp"

namespace paceline::runtime {
namespace {

constexpr std::size_t kDoubled =
    std::size_t{16} * 1024;  // bytes up to which all_reduce takes fewest messages
constexpr std::size_t kHalved =
    std::size_t{512} * 1024;                           // up to which it takes few, of little in all
constexpr std::size_t kTree = std::size_t{64} * 1024;  // up to which broadcast goes by a tree
constexpr std::size_t kFused =
    std::size_t{4} * 1024 * 1024;  // bytes of tensors that travel together

std::size_t bytes_of(const Elements& elements) { return elements.count * size_of(elements.type); }

// Passes on what has come.
class PassOn final : public Source {
 public:
  PassOn(std::span<const std::byte> bytes, const std::size_t& there)
      : bytes_(bytes), there_(there) {}
  std::span<const std::byte> next() override { return bytes_.first(there_).subspan(sent_); }
  void sent(std::size_t count) override { sent_ += count; }
  [[nodiscard]] bool done() const override { return sent_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  const std::size_t& there_;
  std::size_t sent_ = 0;
};

class Counted final : public Sink {
 public:
  Counted(std::span<std::byte> bytes, std::size_t& there) : bytes_(bytes), there_(there) {}
  std::span<std::byte> next() override { return bytes_.subspan(there_); }
  void took(std::size_t count) override { there_ += count; }
  [[nodiscard]] bool done() const override { return there_ == bytes_.size(); }

 private:
  std::span<std::byte> bytes_;
  std::size_t& there_;
};

}  // namespace

Collectives::Collectives(Links& links)
    : links_(links),
      rank_(links.rank()),
      size_(links.size()),
      messages_to_(static_cast<std::size_t>(size_)),
      messages_from_(static_cast<std::size_t>(size_)) {}

Outcome<void> Collectives::begin() {
  auto board = Board::open(links_, *this);
  if (!board) return fail(std::move(board.error()));
  board_ = std::move(*board);
  return {};
}

Head Collectives::head(Head::Kind kind, const Elements& elements, int root) {
  const Head head{.number = ++number_,
                  .kind = kind,
                  .type = static_cast<std::uint8_t>(elements.type),
                  .op = static_cast<std::uint8_t>(elements.op),
                  .root = root,
                  .count = elements.count};
  if (board_) board_->begin(head);
  return head;
}

std::span<std::byte> Collectives::scratch(std::size_t size) {
  if (scratch_.size() < size) scratch_.resize(size);
  return std::span(scratch_).first(size);
}

Outcome<void> Collectives::exchange(int peer, std::span<const std::byte> mine,
                                    std::span<std::byte> theirs, Head& head) {
  Bytes source(mine);
  Destination sink(theirs);
  ++head.step;
  return flow(links_, head, Sending{peer, source}, Receiving{peer, sink});
}

// ---- all_reduce ----

Outcome<void> Collectives::all_reduce(std::byte* data, const Elements& elements) {
  if (auto known = links_.look(); !known) return known;
  const Head head = this->head(Head::Kind::all_reduce, elements);
  if (size_ == 1) return {};
  if (board_) return board_->all_reduce(data, elements, head);
  if (bytes_of(elements) <= kDoubled) return double_up(data, elements, head);
  if (bytes_of(elements) <= kHalved) return halve_and_double(data, elements, head);
  const Ring ring{data, elements, size_, (rank_ + size_ - 1) % size_, size_ - 1, 2 * (size_ - 1)};
  RingIn in(ring);
  RingOut out(ring, in);
  return flow(links_, head, Sending{(rank_ + 1) % size_, out},
              Receiving{(rank_ + size_ - 1) % size_, in});
}

// Those beyond the largest power of two give theirs to one within it.
Outcome<void> Collectives::fold_in(std::byte* data, const Elements& elements, Head& head) {
  const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const auto bytes = std::span(data, bytes_of(elements));
  ++head.step;
  if (rank_ >= whole) {
    Bytes source(bytes);
    return flow(links_, head, Sending{rank_ - whole, source}, std::nullopt);
  }
  if (rank_ >= size_ - whole) return {};
  Destination sink(scratch(bytes.size()));
  auto came = flow(links_, head, std::nullopt, Receiving{rank_ + whole, sink});
  if (came) combine(data, data, scratch_.data(), elements.count, elements.type, elements.op);
  return came;
}

Outcome<void> Collectives::unfold(std::span<std::byte> data, Head& head) {
  const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  head.step = 255;
  if (rank_ >= whole) {
    Destination sink(data);
    return flow(links_, head, std::nullopt, Receiving{rank_ - whole, sink});
  }
  if (rank_ >= size_ - whole) return {};
  Bytes source(data);
  return flow(links_, head, Sending{rank_ + whole, source}, std::nullopt);
}

Outcome<void> Collectives::double_up(std::byte* data, const Elements& elements, Head head) {
  const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const auto& [count, type, op] = elements;
  const auto bytes = std::span(data, bytes_of(elements));
  if (auto done = fold_in(data, elements, head); !done) return done;
  for (int away = 1; rank_ < whole && away < whole; away *= 2) {
    const int peer = rank_ ^ away;
    const auto theirs = scratch(bytes.size());
    if (auto done = exchange(peer, bytes, theirs, head); !done) return done;
    if (rank_ < peer)
      combine(data, data, theirs.data(), count, type, op);
    else
      combine(data, theirs.data(), data, count, type, op);
  }
  if (rank_ < whole && op == PACELINE_MEAN) divide(data, count, type, size_);
  return unfold(bytes, head);
}

// Each ends with one of `whole` parts reduced, then all collect the parts.
Outcome<void> Collectives::halve_and_double(std::byte* data, const Elements& elements, Head head) {
  const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const auto& [count, type, op] = elements;
  if (auto done = fold_in(data, elements, head); !done) return done;
  const Ring parts{data, elements, whole};
  const auto range = [&](int begin, int number) {
    const auto first = parts.chunk(begin), last = parts.chunk(begin + number - 1);
    return std::span(first.data(),
                     static_cast<std::size_t>(last.data() + last.size() - first.data()));
  };
  int begin = 0;
  for (int half = whole / 2; rank_ < whole && half > 0; half /= 2) {
    const int peer = rank_ ^ half;
    const bool low = rank_ < peer;
    const auto kept = range(low ? begin : begin + half, half);
    const auto given = range(low ? begin + half : begin, half);
    const auto theirs = scratch(kept.size());
    if (auto done = exchange(peer, given, theirs, head); !done) return done;
    const auto* const first = low ? kept.data() : theirs.data();
    const auto* const second = low ? theirs.data() : kept.data();
    combine(kept.data(), first, second, kept.size() / size_of(type), type, op);
    begin += low ? 0 : half;
  }
  if (rank_ < whole && op == PACELINE_MEAN) {
    const auto mine = parts.chunk(rank_);
    divide(mine.data(), mine.size() / size_of(type), type, size_);
  }
  for (int number = 1; rank_ < whole && number < whole; number *= 2) {
    const auto mine = range(begin, number), theirs = range(begin ^ number, number);
    if (auto done = exchange(rank_ ^ number, mine, theirs, head); !done) return done;
    begin &= ~number;
  }
  return unfold({data, bytes_of(elements)}, head);
}

// Over a board all go as one, from where they lie; else small ones are copied side by side and travel
// as one.
Outcome<void> Collectives::all_reduce_many(std::span<std::byte* const> data,
                                           std::span<const std::size_t> counts, paceline_type type,
                                           paceline_op op) {
  const std::size_t size = size_of(type);
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (board_ && all * size > Board::kWhole) {
    if (auto known = links_.look(); !known) return known;
    std::vector<Walk::Piece> tensors;
    tensors.reserve(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) tensors.emplace_back(data[i], counts[i] * size);
    const Elements elements{all, type, op};
    return board_->all_reduce(tensors, elements, head(Head::Kind::all_reduce, elements));
  }
  for (std::size_t begin = 0; begin < data.size();) {
    std::size_t end = begin + 1, count = counts[begin];
    while (end < data.size() && (count + counts[end]) * size <= kFused) count += counts[end++];
    if (end == begin + 1) {
      if (auto done = all_reduce(data[begin], {count, type, op}); !done) return done;
    } else {
      if (fused_.size() < count * size) fused_.resize(count * size);
      std::byte* at = fused_.data();
      for (std::size_t i = begin; i < end; at += counts[i++] * size)
        if (counts[i] > 0) std::memcpy(at, data[i], counts[i] * size);
      if (auto done = all_reduce(fused_.data(), {count, type, op}); !done) return done;
      at = fused_.data();
      for (std::size_t i = begin; i < end; at += counts[i++] * size)
        if (counts[i] > 0) std::memcpy(data[i], at, counts[i] * size);
    }
    begin = end;
  }
  return {};
}

// ---- the others ----

Outcome<void> Collectives::broadcast(std::span<std::byte> data, int root) {
  if (auto known = links_.look(); !known) return known;
  const Head head = this->head(Head::Kind::broadcast, {.count = data.size()}, root);
  const int place = (rank_ - root + size_) % size_;
  const auto rank_at = [&](int at) { return (at + root) % size_; };
  if (size_ == 1) return {};
  if (data.size() > kTree) {
    std::size_t there = place == 0 ? data.size() : 0;
    PassOn source(data, there);
    Counted sink(data, there);
    std::optional<Sending> sending;
    std::optional<Receiving> receiving;
    if (place + 1 < size_) sending.emplace(Sending{rank_at(place + 1), source});
    if (place > 0) receiving.emplace(Receiving{rank_at(place - 1), sink});
    return flow(links_, head, sending, receiving);
  }
  int away = 1;
  while (away < size_ && (place & away) == 0) away *= 2;
  if (place > 0) {
    Destination sink(data);
    if (auto came = flow(links_, head, std::nullopt, Receiving{rank_at(place - away), sink}); !came)
      return came;
  }
  for (away /= 2; away > 0; away /= 2) {
    if (place + away >= size_) continue;
    Bytes source(data);
    if (auto went = flow(links_, head, Sending{rank_at(place + away), source}, std::nullopt); !went)
      return went;
  }
  return {};
}

Outcome<void> Collectives::all_gather(std::span<const std::byte> mine, std::byte* all) {
  if (auto known = links_.look(); !known) return known;
  const Head head = this->head(Head::Kind::all_gather, {.count = mine.size()});
  std::byte* const own = all + mine.size() * static_cast<std::size_t>(rank_);
  if (!mine.empty() && own != mine.data()) std::memcpy(own, mine.data(), mine.size());
  if (size_ == 1) return {};
  const Elements bytes{mine.size() * static_cast<std::size_t>(size_), PACELINE_UINT8, PACELINE_SUM};
  const Ring ring{all, bytes, size_, (rank_ + size_ - 1) % size_, 0, size_ - 1};
  RingIn in(ring);
  RingOut out(ring, in);
  return flow(links_, head, Sending{(rank_ + 1) % size_, out},
              Receiving{(rank_ + size_ - 1) % size_, in});
}

Outcome<void> Collectives::reduce_scatter(const std::byte* all, std::byte* mine,
                                          const Elements& elements) {
  if (auto known = links_.look(); !known) return known;
  const Head head = this->head(Head::Kind::reduce_scatter, elements);
  const std::size_t part = bytes_of(elements);
  if (size_ == 1) {
    if (part > 0) std::memcpy(mine, all, part);
    return {};
  }
  std::vector<std::byte> work(all, all + part * static_cast<std::size_t>(size_));
  const Elements whole{elements.count * static_cast<std::size_t>(size_), elements.type,
                       elements.op};
  const Ring ring{work.data(), whole, size_, (rank_ + size_ - 2) % size_, size_ - 1, size_ - 1};
  RingIn in(ring);
  RingOut out(ring, in);
  auto done = flow(links_, head, Sending{(rank_ + 1) % size_, out},
                   Receiving{(rank_ + size_ - 1) % size_, in});
  if (done && part > 0) std::memcpy(mine, ring.chunk(rank_).data(), part);
  return done;
}

Outcome<void> Collectives::barrier() {
  if (auto known = links_.look(); !known) return known;
  Head head = this->head(Head::Kind::barrier, {});
  if (board_) return board_->barrier(head);
  for (int away = 1; away < size_; away *= 2) {
    ++head.step;
    Bytes source({});
    Destination sink({});
    if (auto done = flow(links_, head, Sending{(rank_ + away) % size_, source},
                         Receiving{(rank_ + size_ - away) % size_, sink});
        !done)
      return done;
  }
  return {};
}

Outcome<void> Collectives::send(std::span<const std::byte> data, int to) {
  if (auto known = links_.look(); !known) return known;
  const Head head{.number = ++messages_to_[static_cast<std::size_t>(to)],
                  .kind = Head::Kind::message,
                  .count = data.size()};
  Bytes source(data);
  return flow(links_, head, Sending{to, source}, std::nullopt);
}

Outcome<void> Collectives::receive(std::span<std::byte> data, int from) {
  if (auto known = links_.look(); !known) return known;
  const Head head{.number = ++messages_from_[static_cast<std::size_t>(from)],
                  .kind = Head::Kind::message,
                  .count = data.size()};
  Destination sink(data);
  return flow(links_, head, std::nullopt, Receiving{from, sink});
}

}  // namespace paceline::runtime
