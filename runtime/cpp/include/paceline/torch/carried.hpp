// What a training keeps beside its models from start to start.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "paceline/torch/error.hpp"

namespace paceline::detail {

using ::torch::serialize::InputArchive;
using ::torch::serialize::OutputArchive;

inline std::string bytes_of(OutputArchive& archive) {
  std::string bytes;
  archive.save_to([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

struct Carried {
  std::string kind;
  std::function<void(OutputArchive&)> save;
  std::function<void(InputArchive&)> load;
};

inline std::vector<double> rates_of(const ::torch::optim::Optimizer& optimizer) {
  std::vector<double> rates;
  for (const auto& each : optimizer.param_groups()) rates.push_back(each.options().get_lr());
  return rates;
}

// LibTorch's own archive of an optimizer leaves out the learning rates that it has now.
inline void save_optimizer(const ::torch::optim::Optimizer& optimizer, OutputArchive& archive) {
  OutputArchive nested(archive.compilation_unit());
  optimizer.save(nested);
  archive.write("optimizer", nested);
  archive.write("rates", c10::IValue(rates_of(optimizer)));
}

inline void load_optimizer(::torch::optim::Optimizer& optimizer, InputArchive& archive) {
  InputArchive nested;
  c10::IValue rates;
  archive.read("optimizer", nested);
  archive.read("rates", rates);
  optimizer.load(nested);
  const auto saved = rates.toDoubleVector();
  for (std::size_t i = 0; i < saved.size(); ++i)
    optimizer.param_groups().at(i).options().set_lr(saved[i]);
}

// REQUIRES: `thing` outlives what is returned.
template <class Thing>
Carried carried(Thing& thing) {
  static_assert(!std::is_base_of_v<::torch::optim::LRScheduler, Thing>,
                "LibTorch's schedulers can't be saved: set the learning rate by job.steps()");
  Carried made{c10::demangle(typeid(thing).name()), {}, {}};
  if constexpr (std::is_base_of_v<::torch::optim::Optimizer, Thing>) {
    made.save = [&thing](OutputArchive& archive) { save_optimizer(thing, archive); };
    made.load = [&thing](InputArchive& archive) { load_optimizer(thing, archive); };
  } else {
    made.save = [&thing](OutputArchive& archive) { thing.save(archive); };
    made.load = [&thing](InputArchive& archive) { thing.load(archive); };
  }
  return made;
}

}  // namespace paceline::detail
