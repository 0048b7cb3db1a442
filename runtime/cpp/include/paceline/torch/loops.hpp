// What a training's loops go over: epochs, and this rank's batches of an epoch.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "paceline/torch/error.hpp"
#include "paceline/torch/job.hpp"
#include "paceline/torch/loading.hpp"
#include "paceline/torch/seeded.hpp"

namespace paceline {

// The numbers of epochs, for a loop over them.
class Epochs {
 public:
  class Iterator {
   public:
    explicit Iterator(Job& job) : job_(&job) {}
    std::uint64_t operator*() const { return job_->epoch_; }
    Iterator& operator++() {
      ++job_->epoch_;
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const {
      return job_->epoch_ >= job_->total_epochs_;
    }

   private:
    Job* job_;
  };
  explicit Epochs(Job& job) : job_(job) {}
  [[nodiscard]] Iterator begin() const { return Iterator(job_); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  Job& job_;
};

inline Epochs Job::epochs(std::uint64_t count) {
  meet_others();
  total_epochs_ = count;
  return Epochs(*this);
}

// This rank's batches of an epoch, for one loop over them.
template <class Dataset>
class Batches {
 public:
  using Batch = typename Dataset::BatchType;
  using Seeded = detail::Seeded<Dataset>;
  class Iterator {
   public:
    explicit Iterator(Batches& batches) : batches_(&batches) {}
    Batch& operator*() const { return *batches_->loaded_; }
    Iterator& operator++() {
      batches_->begin_next();
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const { return batches_->over_; }

   private:
    Batches* batches_;
  };

  Batches(Job& job, Dataset dataset, const BatchOptions& options)
      : job_(job),
        cut_{options.max_local, options.micro},
        generation_(job.generation()),
        plan_(job.plan(cut_)),
        fetched_(std::make_shared<std::optional<detail::Plan>>(plan_)),
        loader_(::torch::data::make_data_loader(
            Seeded(std::move(dataset), job.chance_of_samples(options)), detail::Planned(fetched_),
            ::torch::data::DataLoaderOptions().workers(options.workers))),
        loaded_(loader_->begin()) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  [[nodiscard]] Iterator begin() {
    begin_next();
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  void begin_next() {
    job_.expect_step();
    job_.come_together();
    if (generation_ != job_.generation()) plan_anew();
    const auto piece = plan_.next();
    over_ = !piece;
    if (!piece) return;
    job_.begin(*piece);
    if (!is_first_) ++loaded_;
    is_first_ = false;
  }
  // The ranks are others: what was fetched ahead was for those before.
  void plan_anew() {
    fetched_->reset();
    while (loaded_ != loader_->end()) ++loaded_;
    plan_ = job_.plan(cut_);
    *fetched_ = plan_;
    generation_ = job_.generation();
    loaded_ = loader_->begin();
    is_first_ = true;
  }

  Job& job_;
  const detail::Cut cut_;
  std::uint64_t generation_;  // whose ranks the plan is for
  detail::Plan plan_;
  std::shared_ptr<std::optional<detail::Plan>> fetched_;  // the same, further on
  std::unique_ptr<::torch::data::StatelessDataLoader<Seeded, detail::Planned>> loader_;
  ::torch::data::Iterator<Batch> loaded_;
  bool is_first_ = true, over_ = false;  // is_first_: the plan has given out none before
};

template <class Dataset>
Batches<Dataset> Job::batches(Dataset dataset, const BatchOptions& options) {
  if (options.micro > 0 && options.workers > 0 && !detail::draws_by_itself<Dataset>())
    throw PacelineError(
        "With .micro a sample's chance is its own, and LibTorch's threads share one generator: "
        "leave .workers at 0, or give the dataset void seed(std::uint64_t), for a generator of its "
        "own.");
  begin_epoch({.length = detail::length_of(dataset),
               .batch = options.global_batch_size,
               .seed = options.seed,
               .shuffle = options.shuffle,
               .drop_last = options.drop_last},
              options);
  return Batches<Dataset>(*this, std::move(dataset), options);
}

}  // namespace paceline
