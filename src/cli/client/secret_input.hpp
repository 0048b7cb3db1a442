// A secret that a person pastes, or that comes through a pipe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/words/console.hpp"

namespace paceline {

inline constexpr std::size_t kSecretBytesMax = 4096;

// The next line of standard input, without blanks around it. A terminal is asked with `prompt`, and
// shows nothing of what is typed. Errors: invalid: there is none, or it is too long.
Result<std::string> ask_secret(Console& console, std::string_view prompt);
// The first line of a file; "-" is standard input. Errors: not_found, invalid.
Result<std::string> read_secret_file(Console& console, const std::string& path);

}  // namespace paceline
