// Where a process computes.
#pragma once

#include <torch/torch.h>

#include <string>

#include "paceline/torch/ranks.hpp"

namespace paceline::detail {

// The first of this worker's own GPUs among those that it is shown; without GPUs the CPU.
inline at::Device own_device(int local_rank) {
  const auto count = static_cast<int>(::torch::cuda::device_count());
  if (count == 0) return at::kCPU;
  const auto devices = variable("PACELINE_DEVICES");
  const auto own = devices.substr(0, devices.find(','));
  auto visible = variable("CUDA_VISIBLE_DEVICES") + ",";
  for (int index = 0; !own.empty() && !visible.empty(); ++index) {
    if (visible.substr(0, visible.find(',')) == own)
      return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
    visible.erase(0, visible.find(',') + 1);
  }
  return {at::kCUDA, static_cast<at::DeviceIndex>(local_rank % count)};
}

}  // namespace paceline::detail
