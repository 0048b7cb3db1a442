// Gradients become the mean over the samples of the global batch, on every rank, while backward runs.
//
// Each rank computes its share in one or more pieces. Every gradient of a piece counts by the piece's
// part of the global batch, so the sum over pieces and ranks is the mean. After a piece that isn't the
// last its gradients are set aside, and parameters have none: so optimizers and what clips gradients
// find nothing to do until the last one. While the last one's backward runs, buckets of gradients that
// are complete are summed over the ranks through host memory, in the same order everywhere.
//
// Where the program says what its pieces count, that takes the place of their part, and the sum is
// divided by what all pieces of all ranks count.
//
// Where the group fails, and others go on together, the global batch is void: backward() ends as ever,
// and parameters have no gradients.
#pragma once

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "paceline/runtime.hpp"
#include "paceline/torch/error.hpp"
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

// Calls a function whenever backward() has added to a parameter's gradient.
class WhenAccumulated final : public ::torch::autograd::FunctionPostHook {
 public:
  explicit WhenAccumulated(std::function<void()> function) : function_(std::move(function)) {}
  std::vector<at::Tensor> operator()(const std::vector<at::Tensor>& outputs,
                                     const std::vector<at::Tensor>& /*inputs*/) override {
    function_();
    return outputs;
  }

 private:
  std::function<void()> function_;
};

// Gradients of one type on their way. After them travels how many ranks have each.
struct Bucket {
  std::vector<std::size_t> parameters;  // by number
  std::vector<at::Tensor> parts;        // of `flat`, one of each parameter
  at::Tensor flat, counts;
  std::size_t complete = 0;
  std::optional<Group::Ticket> ticket;
};

class Gradients : public std::enable_shared_from_this<Gradients> {
 public:
  // REQUIRES: the model's parameters are the same, in the same order, on every rank, and stay where
  // they are; `ranks` outlives it.
  static std::shared_ptr<Gradients> of(const std::vector<at::Tensor>& parameters, Ranks& ranks) {
    std::shared_ptr<Gradients> gradients(new Gradients(parameters, ranks));
    gradients->listen();
    return gradients;
  }
  // The ranks are others now; nothing is under way.
  void meet() {
    buckets_.clear();
    if (group().size() > 1) fill_buckets();
  }

  struct Piece {
    double weight;     // its part of the global batch
    bool first, last;  // of this rank's pieces of the global batch
  };
  // backward() is about to run on this piece.
  void begin(const Piece& piece) {
    piece_ = piece;
    done_ = parameters_.empty();
    void_ = false;
    count_.reset();
    if (!piece.first) return;
    summed_ = false;
    whole_.reset();
    aside_.assign(parameters_.size(), {});
    for (auto& each : buckets_) {
      each.complete = 0;
      each.ticket.reset();
    }
  }
  // The piece counts so much in place of its part: before backward(), of every piece and on every rank.
  void count(double count) {
    if (done_ && !parameters_.empty())
      throw PacelineError("job.weight() was called after backward(): call it before.");
    count_ = count;
  }
  // backward() has run on it.
  [[nodiscard]] bool done() const { return done_; }
  // No piece is under way: gradients are of something else.
  void end() { piece_.reset(); }
  // Parameters have the gradients of the whole global batch.
  [[nodiscard]] bool summed() const { return summed_; }
  // The global batch is void, and what backward() still comes to until the next one begins.
  void drop() {
    end();
    done_ = void_ = true;
    summed_ = false;
    aside_.assign(parameters_.size(), {});
    forget();
  }

 private:
  Gradients(const std::vector<at::Tensor>& parameters, Ranks& ranks) : ranks_(ranks) {
    for (const auto& each : parameters)
      if (each.requires_grad()) parameters_.push_back(each);
    aside_.resize(parameters_.size());
    bucket_of_.resize(parameters_.size());
    if (ranks.met()) meet();
  }

  [[nodiscard]] Group& group() { return ranks_.group(); }

  void listen() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto accumulator = ::torch::autograd::impl::grad_accumulator(parameters_[i]);
      accumulator->add_post_hook(std::make_unique<WhenAccumulated>([weak = weak_from_this(), i] {
        if (const auto gradients = weak.lock()) gradients->accumulated(i);
      }));
      accumulators_.push_back(accumulator);  // kept, or the hooks on them are gone
    }
  }

  // The last parameters first, as backward() comes to them; each bucket of one type.
  void fill_buckets() {
    std::size_t bytes = 0;
    for (std::size_t i = parameters_.size(); i-- > 0;) {
      const auto& parameter = parameters_[i];
      const auto type = buckets_.empty()
                            ? at::ScalarType::Undefined
                            : parameters_[buckets_.back().parameters.front()].scalar_type();
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
    for (const auto i : bucket.parameters) size += parameters_[i].numel();
    const auto type = parameters_[bucket.parameters.front()].scalar_type();
    bucket.flat = ::torch::zeros({size + count}, at::TensorOptions(type));
    bucket.counts = bucket.flat.narrow(0, size, count);
    std::int64_t begin = 0;
    for (const auto i : bucket.parameters) {
      bucket.parts.push_back(bucket.flat.narrow(0, begin, parameters_[i].numel()));
      begin += parameters_[i].numel();
    }
  }

  void accumulated(std::size_t parameter) {
    if (!piece_ && !void_) return;
    if (done_ && !is_void())
      throw PacelineError(
          "backward() ran again on the same batch: add the losses, and call "
          "backward() once for each batch.");
    if (parameters_[parameter].grad().is_sparse())
      throw PacelineError(
          "Sparse gradients can't travel between ranks: make the embedding with sparse(false).");
    if (!queued_) {
      queued_ = true;
      ::torch::autograd::Engine::get_default_engine().queue_callback([weak = weak_from_this()] {
        if (const auto gradients = weak.lock()) gradients->backward_over();
      });
    }
    if (is_void() || !piece_->last || buckets_.empty()) return;
    ++buckets_[bucket_of_[parameter]].complete;
    launch(false);
  }

  void backward_over() {
    queued_ = false;
    done_ = true;
    try {
      if (!is_void()) finish_piece();
    } catch (const GroupError& error) {
      ranks_.suffer(error);
    }
    if (is_void()) forget();
  }

  [[nodiscard]] bool is_void() const { return void_ || ranks_.error(); }
  void forget() {
    for (auto& each : parameters_) each.mutable_grad().reset();
  }

  void finish_piece() {
    const ::torch::NoGradGuard no_grad;
    add_count();
    if (!piece_->last) return set_aside();
    if (buckets_.empty()) {
      add_up();
    } else {
      launch(true);
      for (auto& each : buckets_) receive(each);
    }
    if (whole_) divide();
    summed_ = true;
  }

  void add_count() {
    if (!piece_->first && count_.has_value() != whole_.has_value())
      throw PacelineError(
          "job.weight() was called for some batches of a global batch only: call it for each of "
          "them, before backward().");
    if (count_) whole_ = whole_.value_or(0) + *count_;
  }

  // By what the pieces of all ranks count.
  void divide() {
    group().all_reduce(std::span<double>(&*whole_, 1), Op::sum);
    if (*whole_ <= 0)
      throw PacelineError(
          "job.weight() was 0 for the whole global batch: its mean would be of nothing.");
    for (auto& each : parameters_)
      if (each.grad().defined()) each.mutable_grad().div_(*whole_);
  }

  // What counts for nothing is left out, whatever comes out of it.
  [[nodiscard]] double weight() const { return count_.value_or(piece_->weight); }
  void weigh(at::Tensor& gradient) const {
    if (weight() > 0)
      gradient.mul_(weight());
    else
      gradient.zero_();
  }

  void set_aside() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      auto& gradient = parameters_[i].mutable_grad();
      if (!gradient.defined()) continue;
      weigh(gradient);
      aside_[i] = aside_[i].defined() ? aside_[i].add_(gradient) : gradient;
      gradient.reset();
    }
  }

  // On one rank alone.
  void add_up() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      auto& gradient = parameters_[i].mutable_grad();
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
      const auto& gradient = parameters_[i].grad();
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
      const auto& parameter = parameters_[bucket.parameters[n]];
      auto& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = ::torch::empty_like(parameter);
      gradient.copy_(bucket.parts[n].view(parameter.sizes()));
    }
  }

  Ranks& ranks_;
  std::vector<at::Tensor> parameters_, aside_;
  std::vector<Bucket> buckets_;  // none on one rank alone
  std::vector<std::size_t> bucket_of_;
  std::vector<std::shared_ptr<::torch::autograd::Node>> accumulators_;
  std::optional<Piece> piece_;
  std::optional<double> count_;  // of the piece, where the program says it
  std::optional<double> whole_;  // of the pieces so far; in the end of all ranks'
  bool done_ = true, queued_ = false, summed_ = false, void_ = false;
};

}  // namespace paceline::detail
