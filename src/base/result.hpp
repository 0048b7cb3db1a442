// Result<T>: what the outside world can refuse. An Error names what is wrong in one sentence, what
// to do next in another, and whether trying again can help.
//
//   Result<JobSpec> spec = read_spec(json);
//   if (!spec) return fail(spec.error());
//   return fail(ErrorCode::not_found, "There is no job 7.",
//               "List jobs with 'paceline queue --all'.");
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace paceline {

// Stable names: they are the `code` of an error body (docs/api.md) and decide its status and the
// exit code.
enum class ErrorCode {
  invalid,      // the request itself is wrong
  not_found,    // names something that is not there
  forbidden,    // not yours
  conflict,     // the state of things does not allow it
  too_large,    // over a stated bound
  unavailable,  // nobody answers, or not now
  storage,      // disk full, read-only, unreadable
  data,         // stored data is corrupt or from a newer version
  internal,     // a defect of Paceline
};

enum class Retry { useless, may_help };

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one sentence
  std::string hint;     // what to do next; may be empty
  Retry retry = Retry::useless;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                                std::string hint = {},
                                                Retry retry = Retry::useless) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint), retry});
}

}  // namespace paceline
