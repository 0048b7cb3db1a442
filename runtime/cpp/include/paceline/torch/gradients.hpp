// Gradients become the mean over the samples of the global batch, on every rank.
//
// Each rank computes its share in one or more pieces. Every gradient of a piece counts by the piece's
// part of the global batch, so the sum over pieces and ranks is the mean. After a piece that isn't the
// last its gradients are set aside, and parameters have none: so optimizers and what clips gradients
// find nothing to do until the last one.
//
// Where the program says what its pieces count, that takes the place of their part, and the sum is
// divided by what all pieces of all ranks count.
//
// A loss may reach several models. Their gradients are summed when its backward() has run, model after model: of
// those that any rank's backward() came to. A model that none came to, as in a step of the other half of a GAN,
// has none for this batch.
//
// Where the group fails, and others go on together, the global batch is void: backward() ends as ever,
// and parameters have no gradients.
#pragma once

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

#include <algorithm>
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

class Gradients;

// A backward() of the program, and the models that it may reach: those that it did are told when it has run,
// in an order that is the same on every rank. A rank's own graph may come to them in another one.
class Backward : public std::enable_shared_from_this<Backward> {
 public:
  // Every rank adds them in the same order.
  void add(const std::shared_ptr<Gradients>& gradients) { models_.push_back(gradients); }
  [[nodiscard]] bool may_reach_several() const { return models_.size() > 1; }
  // A piece is handed out.
  void begin() { reached_ = false; }
  // It runs, and has come to a parameter.
  void reach() {
    reached_ = true;
    if (std::exchange(runs_, true)) return;
    ::torch::autograd::Engine::get_default_engine().queue_callback([weak = weak_from_this()] {
      if (const auto backward = weak.lock()) backward->end();
    });
  }
  // The program has done with the piece: takes it of the models that backward() did not come to. Throws
  // PacelineError where that is all of them, or it has come to what ranks would train each for itself.
  void end_piece() const;

 private:
  void end();
  [[nodiscard]] std::vector<std::shared_ptr<Gradients>> models() const;
  // Of the models those that this backward() reached, or that of another rank; flags, since ranks add them up.
  [[nodiscard]] static std::vector<double> wanted(
      const std::vector<std::shared_ptr<Gradients>>& models);

  std::vector<std::weak_ptr<Gradients>> models_;
  bool runs_ = false, reached_ = false;
};

// When backward() has run on what; how gradients are summed over pieces and ranks is a matter of what is
// derived from it.
class Gradients : public std::enable_shared_from_this<Gradients> {
 public:
  virtual ~Gradients() = default;
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  // The ranks are others now, or parameters() are; nothing is under way.
  virtual void meet() = 0;

  struct Piece {
    double weight;     // its part of the global batch; 0: it doesn't count
    bool first, last;  // of this rank's pieces of the global batch
  };
  // backward() is about to run on this piece. What needs gradients by the first of them is trained from now
  // on, whatever else was before.
  void begin(const Piece& piece) {
    if (piece.first) listen();
    piece_ = piece;
    done_ = void_ = reached_ = false;
    count_.reset();
    if (piece.first) {
      summed_ = false;
      whole_.reset();
      begin_batch();
    }
    begin_piece();
  }
  // The piece counts so much in place of its part: before backward(), of every piece and on every rank.
  void count(double count) {
    if (done_) throw PacelineError("job.weight() was called after backward(): call it before.");
    count_ = count;
  }
  // Those that were summed already where this rank joined: of each parameter whether it is one.
  // REQUIRES: no piece has begun.
  void listen_to(std::vector<bool> summed) { summed_elsewhere_ = std::move(summed); }
  // Whether that parameter's gradient is summed: it has needed one by the begin of a global batch.
  [[nodiscard]] bool is_trained(std::size_t parameter) const {
    return accumulators_[parameter] != nullptr;
  }
  // No piece is under way: gradients are of something else.
  void end() { piece_.reset(); }
  // Parameters have the gradients of the whole global batch.
  [[nodiscard]] bool summed() const { return summed_; }
  // The global batch is void, and what backward() still comes to until the next one begins.
  void drop() {
    end();
    done_ = void_ = true;
    summed_ = false;
    drop_pieces();
    forget();
  }

 protected:
  // REQUIRES: `all` are a model's parameters, the same, in the same order, on every rank, and stay where
  // they are; `ranks` outlives it.
  Gradients(std::vector<at::Tensor> all, Ranks& ranks, std::shared_ptr<Backward> backward)
      : ranks_(ranks),
        backward_(std::move(backward)),
        all_(std::move(all)),
        accumulators_(all_.size()),
        place_(all_.size()) {}

  // Nothing of the model is trained for now, and it needs no sum.
  [[nodiscard]] virtual bool rests() const {
    return std::none_of(parameters_.begin(), parameters_.end(),
                        [](const auto& each) { return each.requires_grad(); });
  }
  // Those that are trained.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] Group& group() { return ranks_.group(); }
  [[nodiscard]] const Backward& backward() const { return *backward_; }
  // REQUIRES: a piece is under way.
  [[nodiscard]] const Piece& piece() const { return *piece_; }
  // What it counts.
  [[nodiscard]] double weight() const { return count_.value_or(piece_->weight); }
  [[nodiscard]] const std::optional<double>& given_count() const { return count_; }

  virtual void begin_batch() = 0;
  virtual void begin_piece() {}
  // While backward() runs on the last piece: that parameter's gradient is there.
  virtual void complete(std::size_t /*parameter*/) {}
  // backward() has run on the piece: takes its gradients, or leaves those of the last one where they are.
  virtual void take_piece() = 0;
  // All pieces of this rank were taken: parameters get the sum over the ranks.
  virtual void sum_up() = 0;
  // What all pieces of all ranks count; `own`: this rank's.
  virtual double whole_count(double own) {
    group().all_reduce(std::span<double>(&own, 1), Op::sum);
    return own;
  }
  virtual void drop_pieces() = 0;

  void forget() {
    for (auto& each : parameters_) each.mutable_grad().reset();
  }

 private:
  friend class Backward;

  // From now on backward() tells it of all parameters that need gradients by now.
  void listen() {
    bool more = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool needs_gradient = all_[i].requires_grad();
      if (accumulators_[i] || !(needs_gradient || is_summed_elsewhere(i))) continue;
      more = true;
      all_[i].set_requires_grad(true);  // one that is frozen has no accumulator, but keeps it
      accumulators_[i] = ::torch::autograd::impl::grad_accumulator(all_[i]);
      all_[i].set_requires_grad(needs_gradient);
      accumulators_[i]->add_post_hook(
          std::make_unique<WhenAccumulated>([weak = weak_from_this(), i] {
            if (const auto gradients = weak.lock()) gradients->accumulated(gradients->place_[i]);
          }));
    }
    if (!more) return;
    parameters_.clear();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      place_[i] = parameters_.size();
      if (accumulators_[i]) parameters_.push_back(all_[i]);
    }
    meet();
  }

  [[nodiscard]] bool is_summed_elsewhere(std::size_t parameter) const {
    return parameter < summed_elsewhere_.size() && summed_elsewhere_[parameter];
  }

  void expect_no_others() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (!accumulators_[i] && all_[i].requires_grad() && all_[i].grad().defined())
        throw PacelineError(
            "Parameters were set to need gradients after the batch was handed out, so ranks would "
            "train each its own: do it before the global batch, or after job.step().");
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
    reached_ = true;
    backward_->reach();
    if (!is_void() && piece_->last) complete(parameter);
  }

  void backward_over() {
    if (!std::exchange(reached_, false)) forget();  // what is there is of an earlier batch
    done_ = true;
    try {
      if (!is_void()) finish_piece();
    } catch (const GroupError& error) {
      ranks_.suffer(error);
    }
    if (is_void()) forget();
  }

  [[nodiscard]] bool is_void() const { return void_ || ranks_.error(); }

  void finish_piece() {
    const ::torch::NoGradGuard no_grad;
    add_count();
    take_piece();
    if (!piece_->last) return;
    sum_up();
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
    const double whole = whole_count(*whole_);
    if (whole <= 0)
      throw PacelineError(
          "job.weight() was 0 for the whole global batch: its mean would be of nothing.");
    for (auto& each : parameters_)
      if (each.grad().defined()) each.mutable_grad().div_(whole);
  }

  Ranks& ranks_;
  std::shared_ptr<Backward> backward_;
  std::vector<at::Tensor> all_, parameters_;
  // Of all; none of those that are not trained. Kept, or the hooks on them are gone.
  std::vector<std::shared_ptr<::torch::autograd::Node>> accumulators_;
  std::vector<bool> summed_elsewhere_;
  std::vector<std::size_t> place_;  // of all: among parameters_
  std::optional<Piece> piece_;
  std::optional<double> count_;  // of the piece, where the program says it
  std::optional<double> whole_;  // of this rank's pieces so far
  bool done_ = true, reached_ = false, summed_ = false, void_ = false;
};

inline std::vector<std::shared_ptr<Gradients>> Backward::models() const {
  std::vector<std::shared_ptr<Gradients>> models;
  for (const auto& each : models_)
    if (auto gradients = each.lock()) models.push_back(std::move(gradients));
  return models;
}

inline std::vector<double> Backward::wanted(const std::vector<std::shared_ptr<Gradients>>& models) {
  std::vector<double> flags;
  for (const auto& each : models) flags.push_back(each->reached_ ? 1 : 0);
  auto& first = *models.front();
  if (models.size() == 1 || first.is_void() || !first.piece_->last) return flags;
  try {
    first.group().all_reduce(std::span<double>(flags), Op::max);
  } catch (const GroupError& error) {
    first.ranks_.suffer(error);
  }
  return flags;
}

inline void Backward::end() {
  runs_ = false;
  const auto reached = models();
  const auto flags = wanted(reached);
  for (std::size_t i = 0; i < reached.size(); ++i)
    if (flags[i] > 0) reached[i]->backward_over();
}

inline void Backward::end_piece() const {
  const auto all = models();
  const auto is_left = [](const auto& each) { return !each->done_ && !each->rests(); };
  if (!reached_ && std::any_of(all.begin(), all.end(), is_left))
    throw PacelineError(
        "backward() did not reach the model's parameters for this batch: call it "
        "once for each batch, before job.step().");
  for (const auto& each : all) each->expect_no_others();
  for (const auto& each : all)
    if (is_left(each)) each->backward_over();
}

}  // namespace paceline::detail
