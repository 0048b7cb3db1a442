// A dataset whose samples draw their chance from seed, epoch and index alone.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "paceline/order.hpp"
#include "paceline/torch/chance.hpp"

namespace paceline::detail {

// It draws from generators of its own, which it seeds when it is told to.
template <class Thing>
concept DrawsByItself = requires(Thing& thing, std::uint64_t seed) {
  thing.seed(seed);
};

template <class Dataset>
struct Mapped : std::false_type {};
template <class Source, class Transform>
struct Mapped<::torch::data::datasets::MapDataset<Source, Transform>> : std::true_type {};

template <class Transform>
inline constexpr bool kStacks = false;
template <class Example>
inline constexpr bool kStacks<::torch::data::transforms::Stack<Example>> = true;

// No sample of it draws from the generator that all threads share.
template <class Dataset>
constexpr bool draws_by_itself() {
  if constexpr (DrawsByItself<Dataset>) {
    return true;
  } else if constexpr (Mapped<Dataset>::value) {
    using Transform = typename Dataset::TransformType;
    return draws_by_itself<typename Dataset::DatasetType>() &&
           (DrawsByItself<Transform> || kStacks<Transform>);
  } else {
    return false;
  }
}

template <class Batch>
inline constexpr bool kHasSamples = false;  // one after the other
template <class Sample>
inline constexpr bool kHasSamples<std::vector<Sample>> = true;

// What samples draw from becomes what it was.
class KeptChance {
 public:
  KeptChance() : before_(own_chance()) {}
  KeptChance(const KeptChance&) = delete;
  KeptChance& operator=(const KeptChance&) = delete;
  ~KeptChance() { restore_chance(tensor_of(before_)); }

 private:
  std::string before_;
};

// What it depends on.
struct Chance {
  std::uint64_t seed, epoch;
  bool in_threads;  // which share LibTorch's generator, so that is left alone
};

// Where each sample can be asked for alone, its chance is its own. A dataset that gives batches of another
// kind draws for all of a batch at once: then it is that of the batch's first sample.
template <class Dataset>
class Seeded final
    : public ::torch::data::datasets::BatchDataset<Seeded<Dataset>, typename Dataset::BatchType,
                                                   std::vector<std::size_t>> {
 public:
  using Batch = typename Dataset::BatchType;
  using Indices = std::vector<std::size_t>;

  // `by`: none leaves all to the dataset.
  Seeded(Dataset dataset, const std::optional<Chance>& by)
      : dataset_(std::move(dataset)), by_(by) {}

  Batch get_batch(Indices indices) override {
    if (!by_) return dataset_.get_batch(std::move(indices));
    std::optional<KeptChance> kept;
    if (!by_->in_threads) kept.emplace();
    return batch_of(dataset_, indices);
  }
  c10::optional<std::size_t> size() const override { return dataset_.size(); }

 private:
  template <class Source>
  typename Source::BatchType batch_of(Source& source, const Indices& indices) {
    if constexpr (kHasSamples<typename Source::BatchType>) {
      return samples_of(source, indices);
    } else if constexpr (Mapped<Source>::value) {
      auto batch = batch_of(inner(source), indices);
      return transform(source).apply_batch(std::move(batch));
    } else {
      seed(source, indices.front());
      return source.get_batch(indices);
    }
  }
  template <class Source>
  typename Source::BatchType samples_of(Source& source, const Indices& indices) {
    typename Source::BatchType all;
    all.reserve(indices.size());
    for (const auto index : indices) {
      seed(source, index);
      auto one = source.get_batch(Indices{index});
      std::move(one.begin(), one.end(), std::back_inserter(all));
    }
    return all;
  }

  template <class Source>
  void seed(Source& source, std::size_t index) {
    const auto seed = seed_of(by_->seed, by_->epoch, index);
    if (!by_->in_threads) seed_host(seed);
    tell(source, seed);
  }
  template <class Thing>
  static void tell(Thing& thing, std::uint64_t seed) {
    if constexpr (DrawsByItself<Thing>) {
      thing.seed(seed);
    } else if constexpr (Mapped<Thing>::value) {
      tell(inner(thing), seed);
      tell(transform(thing), seed);
    }
  }

  // A MapDataset gives away what is its own, and so this dataset's, as const only.
  template <class Map>
  static typename Map::DatasetType& inner(Map& map) {
    return const_cast<typename Map::DatasetType&>(map.dataset());
  }
  template <class Map>
  static typename Map::TransformType& transform(Map& map) {
    return const_cast<typename Map::TransformType&>(map.transform());
  }

  Dataset dataset_;
  std::optional<Chance> by_;
};

}  // namespace paceline::detail
