// How an operation of a group fails: the cause, the rank at fault, and a sentence that every member
// tells alike.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "paceline/runtime.h"

namespace paceline::runtime {

struct Failure {
  paceline_cause cause = PACELINE_SYSTEM;
  int rank = -1;
  std::string message;
};

template <class T>
using Outcome = tl::expected<T, Failure>;

inline tl::unexpected<Failure> fail(paceline_cause cause, int rank, std::string message) {
  return tl::unexpected<Failure>({cause, rank, std::move(message)});
}
inline tl::unexpected<Failure> fail(Failure failure) {
  return tl::unexpected<Failure>(std::move(failure));
}
// What the caller gave can't be right.
inline tl::unexpected<Failure> bad(std::string message) {
  return fail(PACELINE_BAD_ARGUMENT, -1, std::move(message));
}

}  // namespace paceline::runtime
