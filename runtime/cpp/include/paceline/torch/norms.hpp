// Batch norms whose running statistics come in the order of micro-batches.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/in_turn.hpp"
#include "paceline/torch/model.hpp"

namespace paceline::detail {

inline std::span<std::byte> bytes_in(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

// All of a model's. With a momentum of 1 each notes what a micro-batch has, and that is averaged in as the
// module would, one micro-batch after the other.
class Norms {
 public:
  // REQUIRES: the model outlives this, and keeps its modules.
  explicit Norms(Module& model) {
    model.apply([this](Module& each) {
      add<::torch::nn::BatchNorm1dImpl>(each);
      add<::torch::nn::BatchNorm2dImpl>(each);
      add<::torch::nn::BatchNorm3dImpl>(each);
    });
    for (const auto& each : model.named_buffers())
      if (each.value().defined() && !is_known(each.value()))
        others_.push_back({each.key(), each.value(), {}});
  }

  // A micro-batch is about to be computed.
  void begin() {
    for (auto& each : norms_) {
      if (!start_.defined()) each.momentum = *each.in_use;
      each.before = each.tracked.item<std::int64_t>();
    }
    if (!start_.defined()) start_ = now();
    for (auto& each : norms_) *each.in_use = 1.0;
    for (auto& each : others_)
      if (!compared_) each.before = each.tensor.clone();
  }
  // It was. Throws PacelineError where other buffers have changed: in the first micro-batch, since they
  // would change in every one.
  void close(bool counts) {
    expect_others_as_before();
    if (counts && !norms_.empty()) parts_.push_back(noted());
  }
  // All of a global batch were, on every rank.
  void finish(Group& group) {
    if (norms_.empty()) return;
    auto total = start_.clone();
    in_turn(group, bytes_in(total), [&] {
      for (const auto& part : parts_) average(total, part);
    });
    put(total);
    drop();
  }
  // Running statistics are put back with the model's other buffers.
  void drop() {
    if (start_.defined())
      for (auto& each : norms_) *each.in_use = each.momentum;
    start_.reset();
    parts_.clear();
  }

 private:
  using Momentum = c10::optional<double>;
  struct Norm {
    at::Tensor mean, variance, tracked;
    Momentum* in_use;     // the module's
    Momentum momentum;    // which that is otherwise; none: all micro-batches count alike
    std::int64_t before;  // tracked
  };
  struct Other {
    std::string name;
    at::Tensor tensor, before;
  };

  template <class Impl>
  void add(Module& module) {
    auto* const norm = dynamic_cast<Impl*>(&module);
    if (norm == nullptr || !norm->running_mean.defined()) return;
    norms_.push_back({norm->running_mean,
                      norm->running_var,
                      norm->num_batches_tracked,
                      &norm->options.momentum(),
                      {},
                      0});
  }
  [[nodiscard]] bool is_known(const at::Tensor& buffer) const {
    for (const auto& each : norms_)
      if (buffer.is_same(each.mean) || buffer.is_same(each.variance) ||
          buffer.is_same(each.tracked))
        return true;
    return false;
  }

  // Of one shape and type; NaN is NaN.
  static bool same_bits(const at::Tensor& one, const at::Tensor& other) {
    const auto here = one.to(at::kCPU).contiguous(), there = other.to(at::kCPU).contiguous();
    const auto its = bytes_in(here), others = bytes_in(there);
    return std::equal(its.begin(), its.end(), others.begin(), others.end());
  }
  void expect_others_as_before() {
    for (auto& each : others_) {
      if (!compared_ && !same_bits(each.tensor, each.before))
        throw PacelineError("The buffer " + each.name +
                            " changes while a batch is computed: an exact training has batch "
                            "norms' statistics alone in the order of micro-batches. Leave .exact "
                            "out, and keep .micro.");
      each.before.reset();
    }
    compared_ = true;
  }

  // Of each norm its mean, its variance, and how many micro-batches are in them.
  template <class Count>
  [[nodiscard]] at::Tensor flat(Count count) const {
    std::vector<at::Tensor> all;
    for (const auto& each : norms_) {
      all.push_back(each.mean.to(at::kCPU, at::kDouble));
      all.push_back(each.variance.to(at::kCPU, at::kDouble));
      all.push_back(::torch::full({1}, static_cast<double>(count(each)), at::kDouble));
    }
    return all.empty() ? ::torch::zeros({0}, at::kDouble) : ::torch::cat(all);
  }
  [[nodiscard]] at::Tensor now() const {
    return flat([](const Norm& each) { return each.tracked.template item<std::int64_t>(); });
  }
  // Of this micro-batch: 0 where the norm has not run.
  [[nodiscard]] at::Tensor noted() const {
    return flat([](const Norm& each) {
      return each.tracked.template item<std::int64_t>() > each.before ? 1 : 0;
    });
  }

  // Calls `act(norm, statistics, count)` with each norm's parts of a flat tensor.
  template <class Act>
  void each_of(const at::Tensor& flat, Act act) const {
    std::int64_t begin = 0;
    for (const auto& each : norms_) {
      const auto size = 2 * each.mean.numel();
      act(each, flat.narrow(0, begin, size), flat.narrow(0, begin + size, 1));
      begin += size + 1;
    }
  }
  void average(const at::Tensor& total, const at::Tensor& part) const {
    std::int64_t begin = 0;
    each_of(total, [&](const Norm& norm, at::Tensor statistics, at::Tensor count) {
      const auto size = statistics.numel();
      const auto its = part.narrow(0, begin, size);
      const bool ran = part[begin + size].item<double>() > 0;
      begin += size + 1;
      if (!ran) return;
      count.add_(1);
      const double share = norm.momentum ? *norm.momentum : 1.0 / count.item<double>();
      statistics.mul_(1.0 - share).add_(its * share);
    });
  }
  void put(const at::Tensor& total) const {
    each_of(total, [](const Norm& norm, const at::Tensor& statistics, const at::Tensor& count) {
      const auto size = norm.mean.numel();
      norm.mean.copy_(statistics.narrow(0, 0, size));
      norm.variance.copy_(statistics.narrow(0, size, size));
      norm.tracked.fill_(static_cast<std::int64_t>(count.item<double>()));
    });
  }

  std::vector<Norm> norms_;
  std::vector<Other> others_;      // which nothing is known of
  bool compared_ = false;          // those
  at::Tensor start_;               // before the global batch; none: no such is under way
  std::vector<at::Tensor> parts_;  // of this rank's micro-batches
};

}  // namespace paceline::detail
