// A training that any number of ranks share: paceline/torch.hpp shows how a program uses it.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/order.hpp"
#include "paceline/runtime.hpp"
#include "paceline/torch/checkpoint.hpp"
#include "paceline/torch/device.hpp"
#include "paceline/torch/ending.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/loading.hpp"
#include "paceline/torch/model.hpp"
#include "paceline/torch/report.hpp"
#include "paceline/torch/state.hpp"

namespace paceline {

struct BatchOptions {
  std::size_t global_batch_size = 0;  // samples, whatever the number of ranks
  std::size_t max_local = 0;          // of a piece at most; 0: any number
  std::uint64_t seed = 0;             // of the order
  bool shuffle = true;
  bool drop_last = false;
  std::size_t workers = 0;  // threads that fetch ahead
};

// What a function of evaluate() found in a batch.
struct Sums {
  Metrics of;
  double count = 0;
};

template <class Dataset>
class Batches;
class Epochs;

// Made by paceline::init(). Every rank makes the same calls in the same order.
//
// Functions throw PacelineError, and GroupError where a rank died or doesn't go on. Where nobody catches
// what is thrown, the process ends with exit code 1, and the other ranks with a sentence that names it.
class Job {
 public:
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    if (group_ && std::uncaught_exceptions() > exceptions_)
      group_->abort("an exception ended its training; its log may say more");
  }

  // This process's place, which stays the same while it lives.
  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int size() const { return place_.size; }
  [[nodiscard]] int local_rank() const { return place_.local_rank; }
  [[nodiscard]] std::uint64_t generation() const { return place_.generation; }
  // Where it computes: a GPU of its own where there is one.
  [[nodiscard]] at::Device device() const { return device_; }
  // Paceline says that the model is good enough. Turns true on all ranks in the same step.
  [[nodiscard]] bool should_stop() const { return should_stop_; }
  // How many global batches the training has seen, over all starts.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  // Makes the model train on all ranks: each starts from rank 0's parameters. When the backward() of a
  // global batch returns, gradients are the mean over its samples. `carried`: optimizers, and whatever
  // else has save(OutputArchive&) and load(InputArchive&) and belongs into checkpoints.
  // REQUIRES: the model is on device() by now, and what is carried outlives the last step.
  template <class Model, class... Things>
  void distribute(Model& model, Things&... carried) {
    const auto module = detail::module_of(model);
    const auto difference = detail::difference(group(), *module);
    if (!difference.empty()) end_together(difference);
    detail::share(group(), *module);
    state_.models.push_back({module, detail::Gradients::of(module->parameters(), group())});
    (carry(carried), ...);
  }

  // Keeps checkpoints in `folder`, one every so many seconds and one before giving way, and goes on
  // from the newest. Call it after distribute().
  void checkpoint(const std::filesystem::path& folder, double every = 60) {
    folder_.emplace(folder);
    every_ = every;
    try {
      const auto found = detail::go_on(group(), *folder_);
      if (!found) return;  // it takes the first at once: then the training can be resized
      restore(*found);
      saved_at_ = Clock::now();
    } catch (const PacelineError& error) {
      end_together(error.what());
    }
  }

  // Calls `function` on every rank when the training begins after a start with another number of ranks
  // than its checkpoint. Call it before batches().
  using Resized = std::function<void(int old_size, int new_size)>;
  void on_resize(Resized function) { resized_.push_back(std::move(function)); }

  // The numbers of the epochs that are left of `count`.
  [[nodiscard]] Epochs epochs(std::uint64_t count);

  // This rank's pieces of the global batches of this epoch, from where the training stands, as the
  // dataset's get_batch() makes them. Every sample comes once an epoch, whatever the number of ranks. The
  // order depends on the seed and the epoch alone.
  template <class Dataset>
  [[nodiscard]] Batches<Dataset> batches(Dataset dataset, const BatchOptions& options);

  // What the batch counts in the mean over the global batch, in place of its samples: tokens, say.
  // Before backward(), of every batch and on every rank, with a loss that is the mean over so many.
  void weight(double count) {
    if (!piece_) throw PacelineError("job.weight() was called without a batch of job.batches().");
    if (!std::isfinite(count) || count < 0)
      throw PacelineError("job.weight() takes a number from 0 on, not " + std::to_string(count) +
                          ".");
    for (const auto& each : state_.models) each.gradients->count(piece_->counts > 0 ? count : 0);
  }

  // The batch was trained with. Between two global batches, and only here, ranks agree on what comes
  // next: a report, a checkpoint, to stop, or to give way, which throws Exit. Returns whether a global
  // batch ended. `loss`: the mean over the batch, for the report.
  bool step(const at::Tensor& loss = {}) {
    if (!piece_) throw PacelineError("job.step() was called without a batch of job.batches().");
    for (const auto& each : state_.models)
      if (!each.gradients->done())
        throw PacelineError(
            "backward() did not reach the model's parameters for this batch: call it "
            "once for each batch, before job.step().");
    if (loss.defined() && piece_->counts > 0) {
      loss_ += loss.item<double>() * static_cast<double>(piece_->counts);
      loss_count_ += static_cast<double>(piece_->counts);
    }
    const auto piece = *std::exchange(piece_, std::nullopt);
    for (const auto& each : state_.models) each.gradients->end();
    if (!piece.last) return false;
    order_->step(piece.batch);
    ++steps_;
    samples_ += piece.batch;
    do_what_is_agreed();
    return true;
  }

  // The means over `dataset`, on all ranks together, of what `function(batch)` returns as Sums. Without
  // gradients, models in eval mode. Each sample counts once.
  template <class Function, class Dataset>
  [[nodiscard]] Metrics evaluate(Function function, Dataset dataset, std::size_t batch_size = 256) {
    for (const auto& each : state_.models) detail::average_buffers(group(), *each.module);
    const detail::Evaluating evaluating(state_.models);
    const auto mine = share(detail::length_of(dataset), number_of(rank()), number_of(size()));
    // A rank without samples computes one all the same, for the names, and it counts for nothing.
    Sums sums;
    for (const auto& part : pieces(mine.size() > 0 ? mine : Range{0, 1}, batch_size)) {
      std::vector<std::size_t> indices(part.size());
      std::iota(indices.begin(), indices.end(), part.begin);
      const Sums found = function(dataset.get_batch(indices));
      const bool counts = mine.size() > 0;
      for (const auto& [name, value] : found.of) sums.of[name] += counts ? value : 0;
      sums.count += counts ? found.count : 0;
    }
    return means(sums);
  }

  // Tells Paceline of these numbers, the same on every rank, with where the training stands.
  void report(const Metrics& metrics) const {
    if (rank() == 0) place().add(metrics).print();
  }

  // Hands out the model: a file at `path` with its weights, as torch::load(model, path) reads them, in
  // place of the one before. Returns the absolute path. Where it can't be written all ranks end.
  template <class Model>
  std::string publish(Model& model, const std::filesystem::path& path = "model.pt") {
    const auto module = detail::module_of(model);
    detail::average_buffers(group(), *module);
    auto file = std::filesystem::absolute(path);
    std::string why;
    std::uint64_t bytes = 0;
    if (rank() == 0) {
      detail::OutputArchive archive;
      module->save(archive);
      const auto written = detail::bytes_of(archive);
      bytes = written.size();
      std::error_code ignored;
      std::filesystem::create_directories(file.parent_path(), ignored);
      why = detail::write_whole(file, written);
    }
    why = group().broadcast_bytes(why, 0);
    file = group().broadcast_bytes(file.string(), 0);
    if (!why.empty())
      end_together("The model can't be written to " + file.string() + ": " + why +
                   ". Choose another path, or make room there.");
    if (rank() == 0)
      detail::Report()
          .add("model", file.string())
          .add("bytes", bytes)
          .add("step", steps_)
          .add("samples", samples_)
          .print();
    return file.string();
  }

  // The training is over: a last checkpoint, and all ranks part.
  void finish() {
    if (folder_) save();
    part();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What ranks exchange at the end of a global batch; the greatest of each counts.
  enum Wish { kNotice, kStop, kReport, kCheckpoint, kRate, kLessRate };
  using Wishes = std::array<double, 6>;
  static constexpr int kStartAgain = 75;       // EX_TEMPFAIL of sysexits.h
  static constexpr double kReportEvery = 1.0;  // seconds

  friend Job init(std::chrono::milliseconds timeout);
  friend class Epochs;
  template <class Dataset>
  friend class Batches;

  explicit Job(std::chrono::milliseconds timeout)
      : group_(Group::join(timeout, place_)),
        ending_(*group_),
        device_(detail::own_device(place_.local_rank)) {}

  static std::size_t number_of(int rank) { return static_cast<std::size_t>(rank); }
  static double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  [[nodiscard]] Group& group() {
    if (!group_) throw PacelineError("The training is over: job.finish() was called.");
    return *group_;
  }

  template <class Thing>
  void carry(Thing& thing) {
    state_.carried.push_back(detail::carried(thing));
    if constexpr (std::is_base_of_v<::torch::optim::Optimizer, Thing>)
      if (optimizer_ == nullptr) optimizer_ = &thing;
  }

  // ---- batches ----

  void begin_epoch(const Order::Options& options) {
    Order order = [&] {
      try {
        return Order(options);
      } catch (const std::invalid_argument& error) {
        throw PacelineError(std::string("job.batches() can't begin: ") + error.what() + ".");
      }
    }();
    compare_orders(order);
    if (resumed_) {
      expect_data(order);
      order.go_to(static_cast<std::uint64_t>(resumed_->order_epoch),
                  static_cast<std::size_t>(resumed_->position));
    } else if (order_) {
      order.go_to(order_->epoch(), order_->position());
    }
    order.begin(epoch_);
    const int old_size = resumed_ ? resumed_->ranks : size();
    resumed_.reset();
    order_ = order;
    if (!attends_) attendant_.begin(rank() == 0);
    attends_ = true;
    if (old_size != size())
      for (const auto& each : resized_) each(old_size, size());
  }

  void compare_orders(const Order& order) {
    const auto everyones = group().all_gather_bytes(order.text());
    for (std::size_t other = 1; other < everyones.size(); ++other)
      if (everyones[other] != everyones[0])
        end_together("The ranks have different data: rank 0 has " + everyones[0] + ", rank " +
                     std::to_string(other) + " has " + everyones[other] + ".");
  }

  void expect_step() const {
    if (piece_)
      throw PacelineError(
          "job.step() was not called for the last batch: call it once for each, after "
          "optimizer.step().");
  }

  void begin(const detail::Piece& piece) {
    if (piece.first) begun_at_ = Clock::now();
    piece_ = piece;
    const double weight = static_cast<double>(piece.counts) / static_cast<double>(piece.batch);
    for (const auto& each : state_.models) each.gradients->begin({weight, piece.first, piece.last});
  }

  // ---- between two global batches ----

  void do_what_is_agreed() {
    seconds_ += seconds_since(begun_at_);
    const auto agreed = agree();
    tell_written(false);
    should_stop_ = should_stop_ || agreed[kStop] > 0;
    if (agreed[kReport] > 0) report_progress();
    if (agreed[kNotice] > 0) give_way();
    if (agreed[kCheckpoint] > 0) save();
  }

  Wishes agree() {
    auto wishes = own_wishes();
    group().all_reduce(std::span<double>(wishes), Op::max);
    if (wishes[kRate] != -wishes[kLessRate])
      end_together("The ranks have different learning rates (" +
                   std::to_string(-wishes[kLessRate]) + " and " + std::to_string(wishes[kRate]) +
                   "): set them by job.steps().");
    return wishes;
  }

  Wishes own_wishes() {
    Wishes wishes{};
    wishes[kNotice] = attendant_.notice() != 0 ? 1 : 0;
    wishes[kRate] = learning_rate();
    wishes[kLessRate] = -wishes[kRate];
    if (rank() > 0) return wishes;
    const bool is_free = folder_ && !folder_->is_writing();
    const bool is_due = !saved_at_ || seconds_since(*saved_at_) >= every_;
    wishes[kStop] = attendant_.should_stop() ? 1 : 0;
    wishes[kReport] = seconds_since(reported_at_) >= kReportEvery ? 1 : 0;
    wishes[kCheckpoint] = is_free && is_due ? 1 : 0;
    return wishes;
  }

  [[nodiscard]] double learning_rate() const {
    return optimizer_ == nullptr ? 0.0 : detail::rates_of(*optimizer_).front();
  }

  [[nodiscard]] detail::Report place() const {
    detail::Report report;
    report.add("step", steps_).add("samples", samples_);
    if (order_) {
      const auto part =
          static_cast<double>(order_->position()) / static_cast<double>(order_->options().length);
      report.add("epoch", static_cast<double>(order_->epoch()) + part);
    }
    if (total_epochs_ > 0) report.add("total_epochs", total_epochs_);
    if (optimizer_ != nullptr) report.add("learning_rate", learning_rate());
    return report;
  }

  void report_progress() {
    std::array<double, 2> sums{std::exchange(loss_, 0), std::exchange(loss_count_, 0)};
    group().all_reduce(std::span<double>(sums), Op::sum);
    const auto steps = static_cast<double>(steps_ - std::exchange(reported_steps_, steps_));
    const double seconds = std::exchange(seconds_, 0) / std::max(1.0, steps);
    reported_at_ = Clock::now();
    if (rank() > 0) return;
    auto report = place().add("step_seconds", seconds);
    if (sums[1] > 0) report.add("train_loss", sums[0] / sums[1]);
    report.print();
  }

  Metrics means(const Sums& sums) {
    std::vector<double> totals{sums.count};
    for (const auto& [_, value] : sums.of) totals.push_back(value);
    group().all_reduce(std::span(totals), Op::sum);
    Metrics metrics;
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 1; const auto& [name, _] : sums.of) {
      metrics[name] = totals[0] > 0 ? totals[i] / totals[0] : none;
      ++i;
    }
    return metrics;
  }

  [[noreturn]] void give_way() {
    const int notice = attendant_.notice() != 0 ? attendant_.notice() : SIGTERM;
    if (folder_) save();
    part();
    throw Exit{folder_ ? kStartAgain : 128 + notice};
  }

  // Every rank comes to the same error: none has to tell the others.
  [[noreturn]] void end_together(const std::string& why) {
    part();
    throw PacelineError(why);
  }

  void part() {
    tell_written(true);
    group().barrier();
    ending_.forget_the_others();
    group_.reset();
  }

  void say(const std::string& text) const {
    if (rank() == 0) std::cerr << "paceline: " << text << std::endl;
  }

  // ---- checkpoints ----

  void save() {
    if (!order_ || saved_samples_ == samples_) return;
    tell_written(true);
    saved_samples_ = samples_;
    saved_at_ = Clock::now();
    for (const auto& each : state_.models) detail::average_buffers(group(), *each.module);
    const auto chance = group().all_gather_bytes(detail::own_chance());
    if (rank() == 0) folder_->begin(steps_, samples_, state_.packed(standing(), chance));
  }

  [[nodiscard]] detail::Standing standing() const {
    const auto whole = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    return {whole(steps_),
            whole(samples_),
            whole(epoch_),
            whole(order_->epoch()),
            whole(order_->position()),
            whole(order_->options().length),
            whole(order_->options().seed),
            size()};
  }

  void restore(const detail::Found& found) {
    resumed_ = state_.restore(found, device_, rank());
    resumed_from_ = found.path.string();
    steps_ = reported_steps_ = static_cast<std::uint64_t>(resumed_->steps);
    samples_ = static_cast<std::uint64_t>(resumed_->samples);
    epoch_ = static_cast<std::uint64_t>(resumed_->epoch);
    saved_samples_ = samples_;
    say("Going on from " + resumed_from_ + ", after " + std::to_string(samples_) + " samples, on " +
        std::to_string(size()) + (size() == 1 ? " rank." : " ranks."));
  }

  void expect_data(const Order& order) {
    const auto expect = [&](const char* what, std::int64_t before, std::uint64_t now) {
      if (static_cast<std::uint64_t>(before) != now)
        end_together(resumed_from_ + " is of other data: the " + what + " was " +
                     std::to_string(before) + ", now it is " + std::to_string(now) +
                     ". Choose another folder for checkpoints.");
    };
    expect("length", resumed_->length, order.options().length);
    expect("seed", resumed_->seed, order.options().seed);
  }

  void tell_written(bool wait) {
    const auto written = folder_ ? folder_->written(wait) : std::nullopt;
    if (!written) return;
    if (!written->why_not.empty())
      return say("A checkpoint can't be written to " + folder_->path().string() + ": " +
                 written->why_not + ". The training goes on; make room there.");
    detail::Report()
        .add("checkpoint", written->path.string())
        .add("step", written->steps)
        .add("samples", written->samples)
        .print();
  }

  const int exceptions_ = std::uncaught_exceptions();
  Attendant attendant_;
  Place place_{};
  detail::State state_;         // the group's thread may still write to its gradients
  std::optional<Group> group_;  // until all ranks part
  detail::Ending ending_;
  at::Device device_;
  ::torch::optim::Optimizer* optimizer_ = nullptr;  // the first, whose learning rate is told

  std::optional<Order> order_;
  std::optional<detail::Standing> resumed_;  // until batches() knows the data
  std::string resumed_from_;                 // a path
  std::vector<Resized> resized_;             // what is called
  std::optional<detail::Piece> piece_;       // under way
  std::uint64_t epoch_ = 0, total_epochs_ = 0, steps_ = 0, samples_ = 0;
  bool should_stop_ = false, attends_ = false;

  std::optional<detail::Folder> folder_;
  double every_ = 0;  // seconds
  std::optional<Clock::time_point> saved_at_;
  std::optional<std::uint64_t> saved_samples_;

  double loss_ = 0, loss_count_ = 0, seconds_ = 0;  // since the last report
  std::uint64_t reported_steps_ = 0;
  Clock::time_point reported_at_ = Clock::now(), begun_at_ = reported_at_;
};

// The Job of this process, once all ranks of its gang are there. `timeout`: how long a rank waits for
// others that don't go on; time in which the process is stopped doesn't count. Until batches() a stop
// signal ends the process: there is nothing to save.
inline Job init(std::chrono::milliseconds timeout = std::chrono::minutes(10)) {
  return Job(timeout);
}

}  // namespace paceline
