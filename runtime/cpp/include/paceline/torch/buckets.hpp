// Gradients in buckets that are summed over the ranks while backward runs.
//
// While the last piece's backward runs, buckets of gradients that are complete are summed over the ranks
// through host memory, in the same order everywhere. Where a loss may reach several models they are summed
// when it has run.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/gradients.hpp"
#include "paceline/torch/ranks.hpp"

namespace paceline::detail {

inline constexpr std::size_t kBucketBytes = std::size_t{4} << 20;

inline paceline_type type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return PACELINE_FLOAT32;
    case at::kDouble:
      return PACELINE_FLOAT64;
    case at::kHalf:
      return PACELINE_FLOAT16;
    case at::kBFloat16:
      return PACELINE_BFLOAT16;
    default:
      throw PacelineError(std::string("Gradients of type ") + c10::toString(tensor.scalar_type()) +
                          " can't travel between ranks: train with floats of 16, 32 or 64 bits.");
  }
}

// Gradients of one type on their way. After them travels how many ranks have each.
struct Bucket {
  std::vector<std::size_t> parameters;  // by number
  std::vector<at::Tensor> parts;        // of `flat`, one of each parameter
  at::Tensor flat, counts;
  std::size_t complete = 0;
  std::optional<Group::Ticket> ticket;
};

class BucketGradients final : public Gradients {
 public:
  // REQUIRES: as Gradients; all ranks have met.
  BucketGradients(std::vector<at::Tensor> all, Ranks& ranks, std::shared_ptr<Backward> backward)
      : Gradients(std::move(all), ranks, std::move(backward)) {}

  void meet() override {
    buckets_.clear();
    bucket_of_.resize(parameters().size());
    if (group().size() > 1) fill_buckets();
  }

 private:
  // The last parameters first, as backward() comes to them; each bucket of one type.
  void fill_buckets() {
    std::size_t bytes = 0;
    for (std::size_t i = parameters().size(); i-- > 0;) {
      const auto& parameter = parameters()[i];
      const auto type = buckets_.empty()
                            ? at::ScalarType::Undefined
                            : parameters()[buckets_.back().parameters.front()].scalar_type();
      if (type != parameter.scalar_type() || bytes + parameter.nbytes() > kBucketBytes) {
        buckets_.emplace_back();
        bytes = 0;
      }
      bytes += parameter.nbytes();
      buckets_.back().parameters.push_back(i);
      bucket_of_[i] = buckets_.size() - 1;
    }
    for (auto& each : buckets_) make_room(each);
  }

  void make_room(Bucket& bucket) const {
    const auto count = static_cast<std::int64_t>(bucket.parameters.size());
    std::int64_t size = 0;
    for (const auto i : bucket.parameters) size += parameters()[i].numel();
    const auto type = parameters()[bucket.parameters.front()].scalar_type();
    bucket.flat = ::torch::zeros({size + count}, at::TensorOptions(type));
    bucket.counts = bucket.flat.narrow(0, size, count);
    std::int64_t begin = 0;
    for (const auto i : bucket.parameters) {
      bucket.parts.push_back(bucket.flat.narrow(0, begin, parameters()[i].numel()));
      begin += parameters()[i].numel();
    }
  }

  void begin_batch() override {
    aside_.assign(parameters().size(), {});
    for (auto& each : buckets_) {
      each.complete = 0;
      each.ticket.reset();
    }
  }

  void complete(std::size_t parameter) override {
    if (buckets_.empty()) return;
    ++buckets_[bucket_of_[parameter]].complete;
    if (!backward().may_reach_several()) launch(false);
  }

  void take_piece() override {
    if (!piece().last) set_aside();
  }

  void sum_up() override {
    if (buckets_.empty()) return add_up();
    launch(true);
    for (auto& each : buckets_) receive(each);
  }

  void drop_pieces() override { aside_.assign(parameters().size(), {}); }

  // What counts for nothing is left out, whatever comes out of it.
  void weigh(at::Tensor& gradient) const {
    if (weight() > 0)
      gradient.mul_(weight());
    else
      gradient.zero_();
  }

  void set_aside() {
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      auto& gradient = parameters()[i].mutable_grad();
      if (!gradient.defined()) continue;
      weigh(gradient);
      aside_[i] = aside_[i].defined() ? aside_[i].add_(gradient) : gradient;
      gradient.reset();
    }
  }

  // On one rank alone.
  void add_up() {
    for (std::size_t i = 0; i < parameters().size(); ++i) {
      auto& gradient = parameters()[i].mutable_grad();
      if (gradient.defined() && weight() != 1.0) weigh(gradient);
      if (!aside_[i].defined()) continue;
      gradient = gradient.defined() ? gradient.add_(aside_[i]) : aside_[i];
    }
  }

  // Those that are complete, up to the first that isn't; or all.
  void launch(bool all) {
    const ::torch::NoGradGuard no_grad;
    for (auto& each : buckets_) {
      if (each.ticket) continue;
      if (!all && each.complete < each.parameters.size()) return;
      send(each);
    }
  }

  void send(Bucket& bucket) {
    for (std::size_t n = 0; n < bucket.parameters.size(); ++n) {
      const auto i = bucket.parameters[n];
      const auto& gradient = parameters()[i].grad();
      auto& part = bucket.parts[n];
      if (gradient.defined() && weight() > 0)
        part.copy_(gradient.reshape(-1)).mul_(weight());
      else
        part.zero_();
      if (aside_[i].defined()) part.add_(aside_[i].reshape(-1).to(part.device()));
      const bool there = gradient.defined() || aside_[i].defined();
      bucket.counts[static_cast<std::int64_t>(n)] = there ? 1.0 : 0.0;
    }
    bucket.ticket = group().start_all_reduce(bucket.flat.data_ptr(),
                                             static_cast<std::size_t>(bucket.flat.numel()),
                                             type_of(bucket.flat), Op::sum);
  }

  void receive(Bucket& bucket) {
    group().wait(*bucket.ticket);
    const auto counts = bucket.counts.to(at::kDouble);
    for (std::size_t n = 0; n < bucket.parameters.size(); ++n) {
      // Unused on every rank, as on one device.
      if (counts[static_cast<std::int64_t>(n)].item<double>() == 0.0) continue;
      const auto& parameter = parameters()[bucket.parameters[n]];
      auto& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = ::torch::empty_like(parameter);
      gradient.copy_(bucket.parts[n].view(parameter.sizes()));
    }
  }

  std::vector<at::Tensor> aside_;
  std::vector<Bucket> buckets_;  // none on one rank alone
  std::vector<std::size_t> bucket_of_;
};

}  // namespace paceline::detail
