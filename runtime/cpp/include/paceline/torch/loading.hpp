// A rank's pieces of the global batches of an epoch, and their samples by LibTorch's own DataLoader.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "paceline/order.hpp"
#include "paceline/torch/error.hpp"

namespace paceline::detail {

struct Piece {
  std::vector<std::size_t> indices;
  std::size_t counts;  // samples of it that count: a rank that got none computes what others do
  std::size_t batch;   // samples of its global batch
  bool first, last;    // of this rank's pieces of that
  // What its chance belongs to, where it is a micro-batch: of its global batch the first place in the
  // epoch, and which one of that it is.
  std::size_t position, number;
};

// How a rank's share of a global batch is cut.
struct Cut {
  std::size_t longest;  // samples of a piece at most; 0: any number
  std::size_t micro;    // samples of a piece, whatever the number of ranks; 0: it depends on it
};

// From where an order stands to the end of its epoch. Two plans of one order are alike.
class Plan {
 public:
  Plan(Order order, std::size_t rank, std::size_t ranks, const Cut& cut)
      : order_(std::move(order)), rank_(rank), ranks_(ranks), cut_(cut) {}

  std::optional<Piece> next() {
    if (ahead_.empty()) plan();
    if (ahead_.empty()) return std::nullopt;
    auto piece = std::move(ahead_.front());
    ahead_.pop_front();
    return piece;
  }

 private:
  void plan() {
    const auto position = order_.position();
    const auto indices = order_.next();
    if (indices.empty()) return;
    order_.step(indices.size());
    auto [parts, number] = own_parts(indices.size());
    // A rank that gets none computes what others do; it counts for nothing.
    const bool counts = !parts.empty();
    if (!counts) parts.push_back({0, shortened(indices.size())});
    for (const auto& part : parts) {
      const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(part.begin);
      const auto end = indices.begin() + static_cast<std::ptrdiff_t>(part.end);
      ahead_.push_back({{begin, end},
                        counts ? part.size() : 0,
                        indices.size(),
                        &part == &parts.front(),
                        &part == &parts.back(),
                        position,
                        number++});
    }
  }
  // This rank's, and the number of the first.
  [[nodiscard]] std::pair<std::vector<Range>, std::size_t> own_parts(std::size_t count) const {
    if (cut_.micro == 0) {
      const auto mine = share(count, rank_, ranks_);
      return {pieces(mine, cut_.longest > 0 ? cut_.longest : count), 0};
    }
    const auto all = runs(count, cut_.micro);
    const auto mine = share(all.size(), rank_, ranks_);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(mine.begin);
    return {std::vector<Range>(begin, begin + static_cast<std::ptrdiff_t>(mine.size())),
            mine.begin};
  }
  [[nodiscard]] std::size_t shortened(std::size_t count) const {
    const auto longest = cut_.micro > 0 ? cut_.micro : cut_.longest;
    return longest > 0 ? std::min(longest, count) : count;
  }

  Order order_;
  std::size_t rank_, ranks_;
  Cut cut_;
  std::deque<Piece> ahead_;
};

// What a DataLoader takes for a sampler. The plan may become another one, or none, between two batches.
class Planned final : public ::torch::data::samplers::Sampler<> {
 public:
  explicit Planned(std::shared_ptr<std::optional<Plan>> plan) : plan_(std::move(plan)) {}

  void reset(c10::optional<std::size_t> /*new_size*/ = c10::nullopt) override {}
  c10::optional<std::vector<std::size_t>> next(std::size_t /*batch_size*/) override {
    auto piece = *plan_ ? (*plan_)->next() : std::nullopt;
    if (!piece) return c10::nullopt;
    return std::move(piece->indices);
  }
  void save(::torch::serialize::OutputArchive& /*archive*/) const override {}
  void load(::torch::serialize::InputArchive& /*archive*/) override {}

 private:
  std::shared_ptr<std::optional<Plan>> plan_;
};

template <class Dataset>
std::size_t length_of(const Dataset& dataset) {
  static_assert(!Dataset::is_stateful, "a dataset that is a stream has no order to share out");
  const auto size = dataset.size();
  if (!size)
    throw PacelineError("The dataset has no size: each sample could not come exactly once.");
  if (*size == 0) throw PacelineError("The dataset has no samples.");
  return *size;
}

}  // namespace paceline::detail
