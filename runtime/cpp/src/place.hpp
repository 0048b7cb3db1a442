// This process's place among the ranks of its gang, as its environment tells it in torchrun's names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "endpoint.hpp"
#include "failure.hpp"

namespace paceline::runtime {

struct Place {
  using Variables = std::function<const char*(const char* name)>;  // nullptr: not set

  int rank = 0, size = 1, local_rank = 0;
  std::uint64_t generation = 0;
  std::string secret;
  std::string address;  // of this host, for ranks on others; empty: all run here
  Venue venue;

  // Without any of the variables it is rank 0 of 1.
  static Outcome<Place> read(const Variables& variables);
};

}  // namespace paceline::runtime
