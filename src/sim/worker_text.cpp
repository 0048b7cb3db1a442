#include "sim/worker_text.hpp"

#include <fmt/format.h>

namespace paceline::sim {

std::string text(const WorkerKey& key) {
  return fmt::format("worker {} of generation {} of job {}", key.rank, key.generation.value,
                     key.job.value);
}

}  // namespace paceline::sim
