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
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/order.hpp"
#include "paceline/runtime.hpp"
#include "paceline/torch/acts.hpp"
#include "paceline/torch/audit.hpp"
#include "paceline/torch/buckets.hpp"
#include "paceline/torch/checkpoint.hpp"
#include "paceline/torch/device.hpp"
#include "paceline/torch/ending.hpp"
#include "paceline/torch/error.hpp"
#include "paceline/torch/exact.hpp"
#include "paceline/torch/gradients.hpp"
#include "paceline/torch/loading.hpp"
#include "paceline/torch/model.hpp"
#include "paceline/torch/ranks.hpp"
#include "paceline/torch/report.hpp"
#include "paceline/torch/savepoint.hpp"
#include "paceline/torch/seeded.hpp"
#include "paceline/torch/state.hpp"

namespace paceline {

struct BatchOptions {
  std::size_t global_batch_size = 0;  // samples, whatever the number of ranks
  std::size_t max_local = 0;          // of a piece at most; 0: any number
  std::uint64_t seed = 0;             // of the order
  bool shuffle = true;
  bool drop_last = false;
  // Samples of a micro-batch, which takes the place of max_local: the pieces are the same whatever the
  // number of ranks, and what is drawn by chance in them belongs to the sample or the micro-batch.
  std::size_t micro = 0;
  // Gradients and batch norms' statistics are summed in the order of micro-batches: on CPUs of one type
  // weights are the same bits on any number of ranks. Needs `micro`, and the memory of one set of gradients
  // per micro-batch of a rank.
  bool exact = false;
  // Threads that fetch ahead. With `micro` the dataset needs void seed(std::uint64_t), which is called before
  // each sample for generators of its own, since LibTorch's threads share one.
  std::size_t workers = 0;
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
// A rank that dies makes the global batch under way void: its backward() leaves parameters without
// gradients, so that optimizers do nothing, and those that are left go on with the same samples. Functions
// throw PacelineError, and GroupError where the ranks that are left can't go on. Where nobody catches what is
// thrown, the process ends with exit code 1, and the other ranks with a sentence that names it.
class Job {
 public:
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    if (ranks_.met() && std::uncaught_exceptions() > exceptions_)
      group().abort("an exception ended its training; its log may say more");
  }

  // This process's place, which may change where the next batch is asked for.
  [[nodiscard]] int rank() const { return ranks_.place().rank; }
  [[nodiscard]] int size() const { return ranks_.place().size; }
  [[nodiscard]] int local_rank() const { return ranks_.place().local_rank; }
  [[nodiscard]] std::uint64_t generation() const { return ranks_.place().generation; }
  // Where it computes: a GPU of its own where there is one. It stays the same.
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
    if (!acts_.joins()) {
      const auto difference = detail::difference(group(), *module);
      if (!difference.empty()) end_together(difference);
      detail::share_model(group(), *module, 0);
    }
    state_.models.push_back({module, {}, {}});
    (carry_along(carried), ...);
  }

  // Takes `thing` along: into checkpoints, and to the ranks that a resize brings. A number, a string, a tensor,
  // a model that isn't trained, or what has save(OutputArchive&) and load(InputArchive&). What rank 0 has of
  // it counts. Call it before checkpoint().
  // REQUIRES: it outlives the last step.
  template <class Thing>
  void carry(const std::string& name, Thing& thing) {
    if (folder_ || order_)
      throw PacelineError(
          "job.carry(\"" + name +
          "\", …) came too late: call it before job.checkpoint() and job.batches().");
    state_.named.add(name, thing);
  }
  // Notes, in memory, how what was given to carry() is now. Every start and every resize is a commit, too.
  void commit() { state_.named.commit(); }
  // Puts what was given to carry() back to how it was at the last commit(). Models, optimizers and the place in
  // the data stay.
  void restore() { state_.named.restore(device_); }

  // Keeps checkpoints in `folder`, one every so many seconds and one before giving way, and goes on
  // from the newest. Call it after distribute().
  void checkpoint(const std::filesystem::path& folder, double every = 60) {
    folder_.emplace(folder);
    every_ = every;
    if (acts_.joins()) return;
    try {
      const auto found = detail::go_on(group(), *folder_);
      if (!found) return;  // it takes the first at once: then the training can be resized
      restore_from(*found);
      saved_at_ = Clock::now();
    } catch (const PacelineError& error) {
      end_together(error.what());
    }
  }

  // Calls `function` on every rank, newcomers too, when the training goes on in another generation in
  // place, and when it begins after a start with another number of ranks than its checkpoint. Call it
  // before epochs().
  using Resized = std::function<void(int old_size, int new_size)>;
  void on_resize(Resized function) { resized_.push_back(std::move(function)); }

  // The numbers of the epochs that are left of `count`. A newcomer meets the others here, and has their
  // model, place in the data and steps() from here on.
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
    if (!under_way_) return;
    for (const auto& each : state_.models) each.gradients->count(piece_->counts > 0 ? count : 0);
  }

  // The batch was trained with. Between two global batches, and only here, ranks agree on what comes
  // next: a report, a checkpoint, to stop, a resize, which happens where the next batch is asked for, or
  // to give way. Where this process is to end, Exit is thrown. Returns whether a global batch counts as
  // done. `loss`: the mean over the batch, for the report.
  bool step(const at::Tensor& loss = {}) {
    if (!piece_) throw PacelineError("job.step() was called without a batch of job.batches().");
    const auto before = steps_;
    const auto piece = *std::exchange(piece_, std::nullopt);
    if (under_way_ && !ranks_.error()) end_piece(piece, loss);
    if (ranks_.error()) regroup(kAway);
    return steps_ > before;
  }

  // The means over `dataset`, on all ranks together, of what `function(batch)` returns as Sums. Without
  // gradients, models in eval mode. Each sample counts once. Before it meets the others a newcomer
  // computes by itself.
  template <class Function, class Dataset>
  [[nodiscard]] Metrics evaluate(Function function, Dataset dataset, std::size_t batch_size = 256) {
    const auto length = detail::length_of(dataset);
    if (acts_.joins())
      return means(sums_of(function, dataset, {0, length}, batch_size), [](auto /*totals*/) {});
    return detail::metrics_in(together([&] {
      average_buffers();
      const auto mine = share(length, number_of(rank()), number_of(size()));
      return detail::packed(
          means(sums_of(function, dataset, mine, batch_size),
                [&](std::span<double> totals) { group().all_reduce(totals, Op::sum); }));
    }));
  }

  // Tells Paceline of these numbers, the same on every rank, with where the training stands.
  void report(const Metrics& metrics) const {
    if (rank() == 0) place().add(metrics).print();
  }

  // Hands out the model: a file at `path` with its weights, as torch::load(model, path) reads them, in
  // place of the one before. Outside of batches. Returns the absolute path. Where it can't be written all
  // ranks end. Before it meets the others a newcomer writes nothing.
  template <class Model>
  std::string publish(Model& model, const std::filesystem::path& path = "model.pt") {
    if (acts_.joins()) return std::filesystem::absolute(path).string();
    const auto module = detail::module_of(model);
    const auto file =
        together([&] { return write_model(*module, std::filesystem::absolute(path)); });
    std::error_code ignored;
    if (rank() == 0)
      detail::Report()
          .add("model", file)
          .add("bytes", static_cast<std::uint64_t>(std::filesystem::file_size(file, ignored)))
          .add("step", steps_)
          .add("samples", samples_)
          .print();
    return file;
  }

  // The training is over: a last checkpoint, and all ranks part.
  void finish() {
    together([&] {
      end_audit();
      if (folder_) save();
      part();
      return std::string();
    });
    if (newcomers_) dismiss();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What ranks exchange at the end of a global batch; the greatest of each counts.
  enum Wish { kNotice, kStop, kReport, kCheckpoint, kGeneration, kRate, kLessRate };
  using Wishes = std::array<double, 7>;
  static constexpr int kStartAgain = 75;       // EX_TEMPFAIL of sysexits.h
  static constexpr double kReportEvery = 1.0;  // seconds

  // Where a rank is when its group fails: it asks for the next batch, or may do more before that.
  enum Whereabouts : bool { kAtNextBatch, kAway };
  // What those that join hear while they wait: of another act, of the next batch, or of the end.
  static constexpr char kDone = '+', kNext = '>', kOver = '.';

  friend Job init(std::chrono::milliseconds timeout);
  friend class Epochs;
  template <class Dataset>
  friend class Batches;

  explicit Job(std::chrono::milliseconds timeout)
      : ranks_(timeout),
        ending_(ranks_),
        device_(detail::own_device(local_rank())),
        acts_(ranks_.joins()) {}

  // The global batch under way.
  struct UnderWay {
    std::size_t samples;
    std::optional<detail::Savepoint> before;  // where it may come to that
    double loss, loss_count;                  // before it
    detail::RecentLoss recent_loss;           // before it
  };

  // Ranks that join, and wait until the others ask for the next batch.
  struct Newcomers {
    int host;      // of the others, the rank that does alone what comes until then
    int old_size;  // of the generation before
  };

  static std::size_t number_of(int rank) { return static_cast<std::size_t>(rank); }
  static double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  [[nodiscard]] Group& group() { return ranks_.group(); }

  template <class Thing>
  void carry_along(Thing& thing) {
    state_.carried.push_back(detail::carried(thing));
    if constexpr (std::is_base_of_v<::torch::optim::Optimizer, Thing>)
      optimizers_.push_back(&thing);
  }

  // ---- batches ----

  // A newcomer's training stands where that of the others does from here on.
  void meet_others() {
    if (!acts_.joins()) return;
    ranks_.attendant().say_ready(generation());
    enter(0);
  }

  void begin_epoch(const Order::Options& options, const BatchOptions& asked) {
    meet_others();
    prepare(asked);
    Order order = [&] {
      try {
        return Order(options);
      } catch (const std::invalid_argument& error) {
        throw PacelineError(std::string("job.batches() can't begin: ") + error.what() + ".");
      }
    }();
    if (resumed_) {
      expect_data(order);
      order.go_to(static_cast<std::uint64_t>(resumed_->order_epoch),
                  static_cast<std::size_t>(resumed_->position));
    } else {
      if (order_) order.go_to(order_->epoch(), order_->position());
      order.begin(epoch_);
    }
    const int before = resumed_ ? resumed_->ranks : 0;  // 0: it didn't begin with a checkpoint
    resumed_.reset();
    order_ = order;
    ranks_.attendant().begin(rank() == 0);
    follow();  // the program left the loop over the last epoch's batches
    if (begun_epoch_ != epoch_) together([&] { return compare_orders(); });
    begun_epoch_ = epoch_;
    compare_audit();
    order_->begin(epoch_);
    if (!newcomers_) ranks_.stand();
    if (before > 0 && before != size()) tell_resized(before);
  }

  void tell_resized(int old_size) {
    for (const auto& each : resized_) each(old_size, size());
  }

  [[nodiscard]] detail::Plan plan(const detail::Cut& cut) const {
    return {*order_, number_of(rank()), number_of(size()), cut};
  }

  // How gradients are summed, and by what micro-batches draw.
  void prepare(const BatchOptions& asked) {
    if (asked.exact && asked.micro == 0)
      throw PacelineError(
          ".exact needs .micro: the number of samples of a micro-batch, which stays the same on "
          "any "
          "number of ranks.");
    if (exact_ && *exact_ != asked.exact)
      throw PacelineError(
          "A training is exact as a whole, or not at all: pass the same .exact to every "
          "job.batches().");
    if (asked.exact && !exact_ && device_.is_cuda())
      say("exact on GPUs: what is summed over micro-batches is summed in one order. Weights are "
          "the "
          "same bits only on GPUs of one type, and with LibTorch's deterministic algorithms.");
    exact_ = asked.exact;
    micro_seed_ = asked.micro > 0 ? std::optional(asked.seed) : std::nullopt;
    expect_no_other_parameters();
    for (auto& each : state_.models) {
      if (each.gradients) continue;
      if (asked.exact)
        each.gradients = std::make_shared<detail::ExactGradients>(*each.module, ranks_, backward_);
      else
        each.gradients =
            std::make_shared<detail::BucketGradients>(each.module->parameters(), ranks_, backward_);
      each.gradients->listen_to(each.summed_elsewhere);
      backward_->add(each.gradients);
    }
  }
  // Of optimizers: each rank would train its own.
  void expect_no_other_parameters() const {
    std::set<const c10::TensorImpl*> known;
    for (const auto& model : state_.models)
      for (const auto& each : model.module->parameters()) known.insert(each.unsafeGetTensorImpl());
    for (const auto* optimizer : optimizers_)
      for (const auto& group : optimizer->param_groups())
        for (const auto& each : group.params())
          if (each.requires_grad() && !known.contains(each.unsafeGetTensorImpl()))
            throw PacelineError(
                "An optimizer trains a parameter (" + detail::shape_of(each) +
                ") of no model that was given to job.distribute(), so ranks would "
                "train each its own: register it in a module, and distribute that.");
  }
  [[nodiscard]] std::optional<detail::Chance> chance_of_samples(const BatchOptions& asked) const {
    if (asked.micro == 0) return std::nullopt;
    return detail::Chance{asked.seed, epoch_, asked.workers > 0};
  }

  std::string compare_orders() {
    const auto everyones = group().all_gather_bytes(order_->text(), "begins an epoch");
    for (std::size_t other = 1; other < everyones.size(); ++other)
      if (everyones[other] != everyones[0])
        end_together(different_data(everyones[0], other, everyones[other]));
    return {};
  }

  static std::string different_data(const std::string& first, std::size_t other,
                                    const std::string& others) {
    return "The ranks have different data: rank 0 has " + first + ", rank " +
           std::to_string(other) + " has " + others + ".";
  }

  void expect_step() const {
    if (piece_)
      throw PacelineError(
          "job.step() was not called for the last batch: call it once for each, after "
          "optimizer.step().");
  }

  void begin(const detail::Piece& piece) {
    if (piece.first) {
      begun_at_ = Clock::now();
      under_way_ = UnderWay{piece.batch, {}, loss_, loss_count_, recent_loss_};
      if (ranks_.attendant().hears()) under_way_->before.emplace(state_.models);
      recent_loss_.begin_step();
    }
    if (micro_seed_)
      ::torch::manual_seed(seed_of(*micro_seed_, epoch_, piece.position, piece.number));
    piece_ = piece;
    const double weight = static_cast<double>(piece.counts) / static_cast<double>(piece.batch);
    backward_->begin();
    for (const auto& each : state_.models) each.gradients->begin({weight, piece.first, piece.last});
  }

  void end_piece(const detail::Piece& piece, const at::Tensor& loss) {
    backward_->end_piece();
    if (ranks_.error()) return;
    if (loss.defined() && piece.counts > 0) {
      const auto value = loss.item<double>(), count = static_cast<double>(piece.counts);
      loss_ += value * count;
      loss_count_ += count;
      recent_loss_.add(value, count);
    }
    for (const auto& each : state_.models) each.gradients->end();
    if (!piece.last) return;
    under_way_.reset();
    count_step(piece.batch);
    acts_.done();
    attempt([&] { do_what_is_agreed(); });
  }

  void count_step(std::size_t samples) {
    order_->step(samples);
    ++steps_;
    samples_ += samples;
    seconds_ += seconds_since(begun_at_);
  }

  // ---- between two global batches ----

  void do_what_is_agreed() {
    const auto agreed = agree();
    tell_written(false);
    should_stop_ = should_stop_ || agreed[kStop] > 0;
    if (agreed[kReport] > 0) report_progress();
    if (audit_ && audit_->is_due(steps_)) end_audit();
    if (agreed[kGeneration] > static_cast<double>(generation())) {
      ranks_.hear_of(static_cast<std::uint64_t>(agreed[kGeneration]));
      following_ = true;
      return;  // newcomers know of nothing else that was agreed on
    }
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
    wishes[kNotice] = ranks_.attendant().notice() != 0 ? 1 : 0;
    wishes[kGeneration] = static_cast<double>(ranks_.heard());
    wishes[kRate] = learning_rate();
    wishes[kLessRate] = -wishes[kRate];
    if (rank() > 0) return wishes;
    const bool is_free = folder_ && !folder_->is_writing();
    const bool is_due = !saved_at_ || seconds_since(*saved_at_) >= every_;
    wishes[kStop] = ranks_.attendant().should_stop() ? 1 : 0;
    wishes[kReport] = seconds_since(reported_at_) >= kReportEvery ? 1 : 0;
    wishes[kCheckpoint] = is_free && is_due ? 1 : 0;
    return wishes;
  }

  [[nodiscard]] double learning_rate() const {
    return optimizers_.empty() ? 0.0 : detail::rates_of(*optimizers_.front()).front();
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
    if (!optimizers_.empty()) report.add("learning_rate", learning_rate());
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

  // Those of an exact training are the same on every rank.
  void average_buffers() {
    if (exact_.value_or(false)) return;
    for (const auto& each : state_.models) detail::average_buffers(group(), *each.module);
  }

  // Of what `function` finds in the samples of `mine`, in eval mode.
  template <class Function, class Dataset>
  Sums sums_of(Function& function, Dataset& dataset, const Range& mine, std::size_t batch_size) {
    const detail::Evaluating evaluating(state_.models);
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
    return sums;
  }

  template <class AddUp>
  static Metrics means(const Sums& sums, AddUp add_up) {
    std::vector<double> totals{sums.count};
    for (const auto& [_, value] : sums.of) totals.push_back(value);
    add_up(std::span<double>(totals));
    Metrics metrics;
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 1; const auto& [name, _] : sums.of) {
      metrics[name] = totals[0] > 0 ? totals[i] / totals[0] : none;
      ++i;
    }
    return metrics;
  }

  // Where rank 0 has written the model.
  std::string write_model(const detail::Module& module, const std::filesystem::path& path) {
    detail::average_buffers(group(), module);
    std::string why;
    if (rank() == 0) {
      detail::OutputArchive archive;
      module.save(archive);
      std::error_code ignored;
      std::filesystem::create_directories(path.parent_path(), ignored);
      why = detail::write_whole(path, detail::bytes_of(archive));
    }
    why = group().broadcast_bytes(why, 0);
    const auto file = group().broadcast_bytes(path.string(), 0);
    if (!why.empty())
      end_together("The model can't be written to " + file + ": " + why +
                   ". Choose another path, or make room there.");
    return file;
  }

  [[noreturn]] void give_way() {
    const int noticed = ranks_.attendant().notice();
    const int notice = noticed != 0 ? noticed : SIGTERM;  // here it may not have come yet
    end_audit();
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
    ranks_.part();
  }

  [[nodiscard]] std::string ranks_text() const {
    return std::to_string(size()) + (size() == 1 ? " rank" : " ranks");
  }

  void say(const std::string& text) const {
    if (rank() == 0) std::cerr << "paceline: " << text << std::endl;
  }

  // ---- generations ----

  // The next batch is asked for: all ranks are those that compute it, and stand where it begins.
  void come_together() {
    do {
      follow();
      compare_audit();
    } while (newcomers_);
  }

  // Where all ranks have ended the same step, none begins another before the next generation stands.
  void follow() {
    while (following_ || newcomers_) newcomers_ ? welcome() : resize();
  }

  void resize() {
    following_ = false;
    std::string before;
    attempt([&] {
      end_audit();
      before = record().packed();
      part();
    });
    if (ranks_.error()) return regroup(kAtNextBatch);
    enter(size(), before);
  }

  // Those that waited stand where the others are.
  void welcome() {
    const auto waiting = *newcomers_;
    attempt([&] {
      tell_newcomers(kNext);
      newcomers_.reset();
      take_state(waiting.old_size, {});
    });
    if (ranks_.error()) return regroup(kAtNextBatch);
    state_.named.commit();
    stand(waiting.old_size);
  }

  // The training is over without them.
  void dismiss() {
    try {
      tell_newcomers(kOver);
      ranks_.part();
    } catch (const GroupError&) {  // nothing more is needed of others
      ranks_.leave();
    }
  }

  // Returns `result`, the host's on every rank.
  std::string tell_newcomers(char word, const std::string& result = {}) {
    const bool tells = rank() == newcomers_->host;
    return group().broadcast_bytes(tells ? word + result : "", newcomers_->host).substr(1);
  }
  // Of one that joins: until the others ask for the next batch.
  void wait_for_others(int host) {
    char word = kDone;
    while (word == kDone) word = group().broadcast_bytes("", host).front();
    if (word == kNext) return;
    ranks_.part();
    throw Exit{0};
  }

  template <class Act>
  void attempt(Act act) {
    try {
      act();
    } catch (const GroupError& error) {
      ranks_.suffer(error);
    }
  }

  // Does what all ranks do outside of batches; once more with those that are left where the group fails,
  // unless one of them had done it: then what that came to counts. While newcomers wait, one rank does it
  // for all. Returns what it came to.
  template <class Act>
  std::string together(Act act) {
    for (;;) {
      const auto done = acts_.count();
      attempt([&] { acts_.done(newcomers_ ? done_by_host(act) : act()); });
      if (ranks_.error()) regroup(kAway);
      if (acts_.count() > done) return acts_.result();
    }
  }
  template <class Act>
  std::string done_by_host(Act act) {
    const bool hosts = rank() == newcomers_->host;
    return tell_newcomers(kDone, hosts ? ranks_.alone(act) : "");
  }

  // The group failed: those that are left go on as the next generation. Throws what it failed of where
  // there is none.
  void regroup(Whereabouts where) {
    const int old_size = newcomers_ ? newcomers_->old_size : size();
    ranks_.leave();
    where_ = where;
    following_ = false;
    newcomers_.reset();
    saved_samples_.reset();
    audit_.reset();
    if (under_way_) put_back();
    tell_written(true);
    ranks_.await_next();
    enter(old_size);
    where_ = kAtNextBatch;
    say("ranks were lost; " + std::to_string(size()) + " of " + std::to_string(old_size) +
        " go on after step " + std::to_string(steps_) + ".");
  }

  // The global batch under way is void.
  void put_back() {
    bool torn = false;  // an optimizer may have acted, another didn't
    for (const auto& each : state_.models) {
      torn = torn || each.gradients->summed();
      each.gradients->drop();
    }
    under_way_->before->restore();
    loss_ = under_way_->loss;
    loss_count_ = under_way_->loss_count;
    recent_loss_ = under_way_->recent_loss;
    acts_.make_void(under_way_->samples, torn);
    under_way_.reset();
  }

  // Goes on in the next generation, or in a later one where that one doesn't come about. `old_size`: of
  // before; newcomers don't know it. `record`: of before a resize; empty: of a newcomer, or the group had
  // failed.
  void enter(int old_size, const std::string& record = {}) {
    for (;;) {
      try {
        ranks_.join();
        old_size = take_state(old_size, record);
        break;
      } catch (const GroupError& error) {
        ranks_.suffer(error);
      }
      ranks_.await_next();
    }
    if (newcomers_) return ranks_.go_on();
    if (!ranks_.error()) state_.named.commit();  // nothing was void
    stand(old_size);
  }
  void stand(int old_size) {
    ranks_.stand();
    ranks_.attendant().begin(rank() == 0);
    tell_resized(old_size);
  }

  // All ranks of the generation stand where the one stands that has done most: the lowest of those.
  // Returns how many ranks it had before.
  int take_state(int old_size, const std::string& record) {
    const auto found = acts_.compare(
        group(),
        {.stops = should_stop_, .is_away = where_ == kAway, .ranks = old_size, .record = record});
    const bool lacks = found.lacking[number_of(rank())];
    if (std::find(found.lacking.begin(), found.lacking.end(), true) != found.lacking.end()) {
      expect_same_models();
      if (lacks) acts_.begin_copy();
      state_.share(group(), found.root, lacks, device_);
    }
    if (found.newcomers_wait && acts_.joins()) {
      wait_for_others(found.root);
      return take_state(old_size, record);
    }
    if (found.newcomers_wait)
      newcomers_ = Newcomers{found.root, static_cast<int>(found.its.ranks)};
    else if (found.some_join)
      share_standing(found.root);
    if (const auto samples = acts_.catch_up(found.its); samples > 0) count_step(samples);
    should_stop_ = found.stops;
    for (const auto& each : state_.models)
      if (each.gradients) each.gradients->meet();
    if (!found.its.record.empty())
      begin_audit(found.its.record, "in place, on " + ranks_text(), "before the resize");
    return static_cast<int>(found.its.ranks);
  }

  // Where a newcomer built another model, it alone ends.
  void expect_same_models() {
    for (const auto& each : state_.models) {
      const auto difference = detail::difference(group(), *each.module);
      if (difference.empty()) continue;
      if (acts_.joins()) throw PacelineError(difference);
      throw detail::group_error(PACELINE_ABORTED, -1, difference);
    }
  }

  // With the ranks that join.
  void share_standing(int root) {
    const std::int64_t none = -1;
    std::array<std::int64_t, 9> at{};
    if (rank() == root) {
      const auto own = standing();
      const auto number = [](const auto& known) {
        return known ? static_cast<std::int64_t>(*known) : none;
      };
      at = {own.steps,       own.samples,          own.epoch,
            own.order_epoch, own.position,         own.length,
            own.seed,        number(begun_epoch_), number(saved_samples_)};
    }
    group().broadcast(std::span<std::int64_t>(at), root);
    const auto order = group().broadcast_bytes(rank() == root ? order_->text() : "", root);
    const auto named =
        group().broadcast_bytes(rank() == root ? state_.named.packed() : std::string(), root);
    share_what_is_trained(root);
    if (!acts_.joins()) return;
    state_.named.load(named, device_);
    go_on({at[0], at[1], at[2], at[3], at[4], at[5], at[6], 0});
    begun_epoch_ = at[7] == none ? std::nullopt : std::optional<std::uint64_t>(at[7]);
    saved_samples_ = at[8] == none ? std::nullopt : std::optional<std::uint64_t>(at[8]);
    order_elsewhere_ = order;
    ::torch::manual_seed(seed_of(samples_, rank()));
  }

  // Layers may have been frozen and unfrozen since the program began.
  void share_what_is_trained(int root) {
    for (auto& each : state_.models) {
      const auto its = group().broadcast_bytes(rank() == root ? each.trains() : "", root);
      if (acts_.joins()) each.train_as(its);
    }
  }

  // ---- the resume audit ----

  // Where the training stands. Every rank calls it.
  [[nodiscard]] detail::Record record() {
    detail::Record record{steps_,
                          samples_,
                          order_->epoch(),
                          order_->position(),
                          order_->digest(),
                          order_->options().batch,
                          {},
                          recent_loss_.over_all(group())};
    for (const auto* each : optimizers_) record.rates.push_back(detail::rates_of(*each));
    return record;
  }

  void begin_audit(const std::string& before, const std::string& at, const std::string& there) {
    recent_loss_ = {};
    audit_.emplace(detail::Record::unpacked(before), at, there);
  }
  // Before the first batch that comes after a resume is handed out.
  void compare_audit() {
    if (!audit_ || audit_->compared()) return;
    attempt([&] { tell_of_resume(audit_->compare(group(), record())); });
    if (ranks_.error()) regroup(kAtNextBatch);
  }
  void end_audit() {
    if (audit_ && audit_->compared()) tell_of_resume(audit_->conclude(group(), recent_loss_));
    audit_.reset();
  }
  void tell_of_resume(const std::optional<detail::Finding>& found) const {
    if (!found || rank() > 0) return;
    for (const auto& each : found->lines) say(each);
    detail::Report().add_resume(found->agrees, found->text).print();
  }

  // ---- checkpoints ----

  void save() {
    if (!order_ || saved_samples_ == samples_) return;
    tell_written(true);
    saved_samples_ = samples_;
    saved_at_ = Clock::now();
    average_buffers();
    const auto chance = group().all_gather_bytes(detail::own_chance(), "takes a checkpoint");
    const auto at = record().packed();
    if (rank() == 0) folder_->begin(steps_, samples_, state_.packed(standing(), at, chance));
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

  void restore_from(const detail::Found& found) {
    const auto restored = state_.restore(found, device_, rank());
    go_on(restored.standing);
    resumed_from_ = found.path.string();
    const auto name = found.path.filename().string();
    for (const auto& each : restored.differences) say(each + " " + name + ".");
    saved_samples_ = samples_;
    say("Going on from " + resumed_from_ + ", after " + std::to_string(samples_) + " samples, on " +
        ranks_text() + ".");
    if (!restored.record.empty())
      begin_audit(restored.record, "of checkpoint " + name, "in checkpoint " + name);
  }

  void go_on(const detail::Standing& standing) {
    resumed_ = standing;
    steps_ = reported_steps_ = static_cast<std::uint64_t>(standing.steps);
    samples_ = static_cast<std::uint64_t>(standing.samples);
    epoch_ = static_cast<std::uint64_t>(standing.epoch);
  }

  void expect_data(const Order& order) {
    if (!order_elsewhere_.empty()) return expect_data_of_others(order);
    const auto expect = [&](const char* what, std::int64_t before, std::uint64_t now) {
      if (static_cast<std::uint64_t>(before) != now)
        end_together(resumed_from_ + " is of other data: the " + what + " was " +
                     std::to_string(before) + ", now it is " + std::to_string(now) +
                     ". Choose another folder for checkpoints.");
    };
    expect("length", resumed_->length, order.options().length);
    expect("seed", resumed_->seed, order.options().seed);
  }

  // Of a newcomer, which alone ends where it has other data.
  void expect_data_of_others(const Order& order) {
    const auto elsewhere = std::exchange(order_elsewhere_, "");
    if (order.text() != elsewhere)
      throw PacelineError(different_data(elsewhere, number_of(rank()), order.text()));
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
  detail::State state_;  // the group's thread may still write to its gradients
  detail::Ranks ranks_;
  detail::Ending ending_;
  at::Device device_;
  detail::Acts acts_;
  std::shared_ptr<detail::Backward> backward_ = std::make_shared<detail::Backward>();
  std::vector<::torch::optim::Optimizer*> optimizers_;  // the first one's learning rate is told
  std::optional<bool> exact_;                           // how gradients are summed
  std::optional<std::uint64_t> micro_seed_;             // of micro-batches' chance

  std::optional<Order> order_;
  std::optional<detail::Standing> resumed_;  // until batches() knows the data
  std::string resumed_from_;                 // a path
  std::string order_elsewhere_;              // a newcomer's: what the others say of it
  std::vector<Resized> resized_;             // what is called
  std::optional<detail::Piece> piece_;       // which the program has
  std::optional<UnderWay> under_way_;        // none while piece_ is of one that is void
  std::uint64_t epoch_ = 0, total_epochs_ = 0, steps_ = 0, samples_ = 0;
  std::optional<std::uint64_t> begun_epoch_;  // whose order ranks have compared
  bool should_stop_ = false;
  bool following_ = false;  // another generation, before the next batch
  std::optional<Newcomers> newcomers_;
  Whereabouts where_ = kAtNextBatch;  // when the group failed

  std::optional<detail::Folder> folder_;
  double every_ = 0;  // seconds
  std::optional<Clock::time_point> saved_at_;
  std::optional<std::uint64_t> saved_samples_;

  std::optional<detail::Audit> audit_;
  detail::RecentLoss recent_loss_;

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
