// What a training's loops go over: epochs, and this rank's batches of an epoch.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "paceline/torch/job.hpp"
#include "paceline/torch/loading.hpp"

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
  total_epochs_ = count;
  return Epochs(*this);
}

// This rank's batches of an epoch, for one loop over them.
template <class Dataset>
class Batches {
 public:
  using Batch = typename Dataset::BatchType;
  class Iterator {
   public:
    explicit Iterator(Batches& batches) : batches_(&batches) {}
    Batch& operator*() const { return *batches_->loaded_; }
    Iterator& operator++() {
      batches_->go_on();
      return *this;
    }
    bool operator==(std::default_sentinel_t /*end*/) const { return batches_->over_; }

   private:
    Batches* batches_;
  };

  Batches(Job& job, Dataset dataset, const detail::Plan& plan, std::size_t workers)
      : job_(job),
        plan_(plan),
        loader_(
            ::torch::data::make_data_loader(std::move(dataset), detail::Planned(plan),
                                            ::torch::data::DataLoaderOptions().workers(workers))),
        loaded_(loader_->begin()) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  [[nodiscard]] Iterator begin() {
    begin_next();
    return Iterator(*this);
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  void go_on() {
    ++loaded_;
    begin_next();
  }
  void begin_next() {
    job_.expect_step();
    const auto piece = plan_.next();
    over_ = !piece;
    if (piece) job_.begin(*piece);
  }

  Job& job_;
  detail::Plan plan_;
  std::unique_ptr<::torch::data::StatelessDataLoader<Dataset, detail::Planned>> loader_;
  ::torch::data::Iterator<Batch> loaded_;
  bool over_ = false;
};

template <class Dataset>
Batches<Dataset> Job::batches(Dataset dataset, const BatchOptions& options) {
  begin_epoch({.length = detail::length_of(dataset),
               .batch = options.global_batch_size,
               .seed = options.seed,
               .shuffle = options.shuffle,
               .drop_last = options.drop_last});
  const detail::Plan plan(*order_, number_of(rank()), number_of(size()), options.max_local);
  return Batches<Dataset>(*this, std::move(dataset), plan, options.workers);
}

}  // namespace paceline
