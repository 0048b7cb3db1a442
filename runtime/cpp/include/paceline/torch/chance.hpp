// The generator from which dropout and the like draw.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace paceline::detail {

// Its state as bytes.
inline std::string own_chance() {
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::scoped_lock lock(generator.mutex());
  const auto state = generator.get_state();
  return {static_cast<const char*>(state.data_ptr()), state.nbytes()};
}

inline at::Tensor tensor_of(std::string bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  return ::torch::from_blob(bytes.data(), {size}, at::kByte).clone();
}

// REQUIRES: tensor_of() made it, or one like it.
inline std::string text_of(const at::Tensor& bytes) {
  const auto here = bytes.to(at::kCPU).contiguous();
  return {static_cast<const char*>(here.data_ptr()), here.nbytes()};
}

// As torch::manual_seed(), but GPUs' stay.
inline void seed_host(std::uint64_t seed) {
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(seed);
}

inline void restore_chance(const at::Tensor& state) {
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state.to(at::kCPU));
}

}  // namespace paceline::detail
