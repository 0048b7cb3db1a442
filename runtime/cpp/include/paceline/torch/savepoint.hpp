// What computing a global batch changes, as it was before: for a batch that the group fails in.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "paceline/torch/chance.hpp"
#include "paceline/torch/state.hpp"

namespace paceline::detail {

// Buffers and this rank's chance. Parameters and what is carried change only where all gradients came in.
class Savepoint {
 public:
  explicit Savepoint(const std::vector<Distributed>& models) : chance_(own_chance()) {
    for (const auto& each : models)
      for (const auto& buffer : each.module->buffers())
        if (buffer.defined()) buffers_.emplace_back(buffer, buffer.detach().clone());
  }
  void restore() {
    const ::torch::NoGradGuard no_grad;
    for (auto& [buffer, before] : buffers_) buffer.copy_(before);
    restore_chance(tensor_of(chance_));
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
  std::string chance_;
};

}  // namespace paceline::detail
