#include "model/kind.hpp"

namespace paceline {

std::string kind_of(const JobSpec& spec) {
  return std::to_string(spec.uid).append("/").append(spec.name);
}

}  // namespace paceline
