// The exact mode: the same bits on any number of ranks, and through any resizes.
//
// A global batch is computed in micro-batches of a fixed size, whatever the number of ranks; each rank
// computes a run of them. Their gradients, and what batch norms note of each, are summed up one after the
// other in the order of micro-batches: from rank to rank, and from the last one to all.
//
// It costs the memory of the gradients of all micro-batches of a rank, and the time in which the sum goes
// from rank to rank.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "paceline/torch/gradients.hpp"
#include "paceline/torch/in_turn.hpp"
#include "paceline/torch/model.hpp"
#include "paceline/torch/norms.hpp"
#include "paceline/torch/ranks.hpp"

namespace paceline::detail {

class ExactGradients final : public Gradients {
 public:
  // REQUIRES: as Gradients; the model outlives it.
  ExactGradients(Module& model, Ranks& ranks, std::shared_ptr<Backward> backward)
      : Gradients(model.parameters(), ranks, std::move(backward)), norms_(model) {}

  void meet() override {
    size_ = 0;
    type_ = at::kFloat;
    for (const auto& each : parameters()) {
      size_ += each.numel();
      type_ = c10::promoteTypes(type_, each.scalar_type());
    }
  }

 private:
  // What its batch norms note is summed, whether anything is trained or not.
  [[nodiscard]] bool rests() const override { return false; }
  void begin_batch() override { drop_pieces(); }
  void begin_piece() override {
    const ::torch::NoGradGuard no_grad;
    norms_.begin();
  }

  void take_piece() override {
    const bool is_ours = piece().weight > 0;
    if (is_ours) parts_.push_back(part());
    if (is_ours && given_count()) counts_.push_back(*given_count());
    norms_.close(is_ours);
    forget();
  }

  // Of each parameter its gradient, weighed, and after all of them which parameters have one.
  [[nodiscard]] at::Tensor part() const {
    auto flat = room();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      const auto& gradient = parameters()[i].grad();
      const auto size = parameters()[i].numel();
      if (gradient.defined()) {
        // What counts for nothing is left out, whatever comes out of it.
        if (weight() > 0) flat.narrow(0, begin, size).copy_(gradient.reshape(-1));
        flat[size_ + static_cast<std::int64_t>(i)] = 1.0;
      }
      begin += size;
    }
    if (weight() > 0) flat.narrow(0, 0, size_).mul_(weight());
    return flat;
  }
  [[nodiscard]] at::Tensor room() const {
    return ::torch::zeros({size_ + static_cast<std::int64_t>(parameters().size())},
                          at::TensorOptions(type_));
  }

  void sum_up() override {
    if (!parameters().empty()) sum_gradients();
    norms_.finish(group());
  }

  void sum_gradients() {
    auto total = room();
    in_turn(group(), bytes_in(total), [&] {
      for (const auto& each : parts_) total.add_(each);
    });
    parts_.clear();
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      const auto& parameter = parameters()[i];
      const auto size = parameter.numel();
      // Otherwise unused in every micro-batch, as on one device.
      if (total[size_ + static_cast<std::int64_t>(i)].item<double>() > 0)
        parameter.mutable_grad() = total.narrow(0, begin, size)
                                       .view(parameter.sizes())
                                       .to(parameter.options(), /*non_blocking=*/false,
                                           /*copy=*/true);
      begin += size;
    }
  }

  // In their order, too: they need not be whole numbers.
  double whole_count(double /*own*/) override {
    double whole = 0;
    in_turn(group(), std::as_writable_bytes(std::span(&whole, 1)), [&] {
      for (const auto each : counts_) whole += each;
    });
    return whole;
  }

  void drop_pieces() override {
    parts_.clear();
    counts_.clear();
    norms_.drop();
  }

  Norms norms_;
  at::ScalarType type_ = at::kFloat;
  std::int64_t size_ = 0;          // elements of all parameters
  std::vector<at::Tensor> parts_;  // of this rank's micro-batches
  std::vector<double> counts_;     // of those, where the program says them
};

}  // namespace paceline::detail
