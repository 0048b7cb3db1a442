// Which sample comes when, and which rank computes it: a matter of the position alone.
//
// A global batch is the next `batch` samples of the epoch's permutation, whatever the number of ranks. So
// a training that knows its position goes on with any other number of ranks, and every sample comes
// exactly once an epoch over any schedule of resizes. The order is that of the Python package.
//
//   paceline::Order order({.length = 60'000, .batch = 128, .seed = 1});
//   order.begin(epoch);
//   const std::vector<std::size_t> indices = order.next();      // of the next global batch
//   const auto mine = paceline::share(indices.size(), rank, ranks);
//   order.step(indices.size());                                  // they have been trained with
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace paceline {

// 64 bits out of 64, by the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

// A seed that depends on these numbers, below 2^32.
template <class... Parts>
constexpr std::uint64_t seed_of(Parts... parts) {
  std::uint64_t seed = 0;
  ((seed = mixed(seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(parts) + 1)), ...);
  return seed >> 32;
}

// A seeded permutation of the numbers below `length` that needs no memory and any of whose places can
// be asked for: a Feistel network over the next power of four, walked until it falls into the range
// (Black and Rogaway 2002).
class Permutation {
 public:
  Permutation(std::uint64_t length, std::uint64_t seed, std::uint64_t epoch) : length_(length) {
    const auto bits = std::bit_width(std::max<std::uint64_t>(length, 2) - 1);
    half_ = (static_cast<unsigned>(bits) + 1) / 2;
    low_ = (std::uint64_t{1} << half_) - 1;
    auto key = mixed(seed * 0x9E3779B97F4A7C15U + epoch * 0xD1B54A32D192ED03U + 1);
    for (auto& each : keys_) each = key = mixed(key + 0x9E3779B97F4A7C15U);
  }

  // REQUIRES: place < length.
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const {
    do place = encrypted(place);
    while (place >= length_);
    return place;
  }

 private:
  [[nodiscard]] std::uint64_t encrypted(std::uint64_t place) const {
    auto left = place >> half_, right = place & low_;
    for (const auto key : keys_) {
      const auto next = left ^ (mixed(right ^ key) & low_);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t length_, low_ = 0;
  unsigned half_ = 1;
  std::uint64_t keys_[4];
};

// A range of things: from `begin` to before `end`.
struct Range {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Those of `count` things that fall to `rank` of `ranks`: they differ by one at most.
constexpr Range share(std::size_t count, std::size_t rank, std::size_t ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

// As few ranges of at most `longest` as a range takes, as even as can be.
inline std::vector<Range> pieces(const Range& range, std::size_t longest) {
  const auto count = (range.size() + longest - 1) / longest;
  std::vector<Range> found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = share(range.size(), i, count);
    found.push_back({range.begin + part.begin, range.begin + part.end});
  }
  return found;
}

// The ranges of `longest` things, the last of which may be smaller.
inline std::vector<Range> runs(std::size_t count, std::size_t longest) {
  std::vector<Range> found;
  for (std::size_t begin = 0; begin < count; begin += longest)
    found.push_back({begin, std::min(begin + longest, count)});
  return found;
}

// The samples of epoch after epoch, `batch` at a time; the last batch of an epoch may be smaller.
class Order {
 public:
  struct Options {
    std::size_t length = 0, batch = 1;
    std::uint64_t seed = 0;
    bool shuffle = true, drop_last = false;
  };

  // Throws std::invalid_argument.
  explicit Order(const Options& options) : options_(options), permutation_(permutation()) {
    const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
    if (options.length < 1) refuse("the dataset has no samples");
    if (options.batch < 1) refuse("a global batch has at least one sample, not 0");
    if (options.drop_last && options.batch > options.length)
      refuse("a global batch of " + std::to_string(options.batch) + " is never full with " +
             std::to_string(options.length) + " samples");
  }

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // How many samples of the epoch have been trained with.
  [[nodiscard]] std::size_t position() const { return position_; }

  // The indices of the next global batch; none at the end of the epoch.
  [[nodiscard]] std::vector<std::size_t> next() const {
    const auto count = std::min(options_.batch, options_.length - position_);
    if (options_.drop_last && count < options_.batch) return {};
    return taken({position_, position_ + count});
  }
  // Of the samples before and after the position: another order has another.
  [[nodiscard]] std::uint64_t digest() const {
    const auto begin = position_ - std::min(position_, kNearby);
    const auto nearby = taken({begin, std::min(position_ + kNearby, options_.length)});
    std::uint64_t digest = nearby.size();
    for (const auto each : nearby) digest = mixed(digest * 0x9E3779B97F4A7C15U + each + 1);
    return digest;
  }
  // So many samples, the last ones that next() gave, have been trained with.
  void step(std::size_t count) { position_ += count; }
  // Goes on with `epoch`; where it is this one already, from its position.
  void begin(std::uint64_t epoch) {
    if (epoch != epoch_) go_to(epoch, 0);
  }
  // REQUIRES: position <= length.
  void go_to(std::uint64_t epoch, std::size_t position) {
    epoch_ = epoch;
    position_ = position;
    permutation_ = permutation();
  }

  // What ranks compare: "60000 samples in global batches of 128 (seed=1, …)".
  [[nodiscard]] std::string text() const {
    const auto word = [](bool value) { return value ? "true" : "false"; };
    return std::to_string(options_.length) + " samples in global batches of " +
           std::to_string(options_.batch) + " (seed=" + std::to_string(options_.seed) +
           ", shuffle=" + word(options_.shuffle) + ", drop_last=" + word(options_.drop_last) + ")";
  }

 private:
  static constexpr std::size_t kNearby = 1024;  // samples on either side

  // The indices at those places of the epoch.
  [[nodiscard]] std::vector<std::size_t> taken(const Range& places) const {
    std::vector<std::size_t> indices(places.size());
    std::iota(indices.begin(), indices.end(), places.begin);
    if (options_.shuffle)
      for (auto& each : indices) each = permutation_.at(each);
    return indices;
  }
  [[nodiscard]] Permutation permutation() const { return {options_.length, options_.seed, epoch_}; }

  Options options_;
  std::uint64_t epoch_ = 0;
  std::size_t position_ = 0;
  Permutation permutation_;
};

}  // namespace paceline
