// Errors on the wire: {"error": {"code": "not_found", "message": "…", "hint": "…"}}, and what each
// code means to HTTP and to a shell. The table is docs/api.md's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

std::string_view to_string(ErrorCode code);  // "not_found", …
std::optional<ErrorCode> parse_error_code(std::string_view text);

int http_status(ErrorCode code);  // 404, …
int exit_code(ErrorCode code);    // 66, …

// The whole body of a failed request.
std::string error_body(const Error& error);

// The error in the body of a failed request; a body that is none becomes `unavailable`: then it was
// not Paceline that answered.
Error read_error(std::string_view body);

}  // namespace paceline
