#include "faults/worker_text.hpp"

#include <fmt/format.h>

namespace paceline::faults {

std::string text(const ProcessKey& key) {
  return fmt::format("worker {} of generation {} of job {}", key.number, key.born.value,
                     key.job.value);
}

}  // namespace paceline::faults
