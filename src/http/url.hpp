// The target of a request line, "/v1/jobs?all=1&state=RUNNING", taken apart and decoded.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

struct Url {
  std::string path;
  std::map<std::string, std::string> query;  // of a key that stands twice, the last
};

// Reads the origin form. Errors: invalid (no path, a broken %-escape, an encoded NUL, an encoded
// slash in the path).
Result<Url> parse_url(std::string_view target);

// "%2F" → "/"; '+' stays. Errors: invalid.
Result<std::string> percent_decode(std::string_view text);

// `text` as a part of a target: all but letters, digits, '-', '.', '_' as %XX.
std::string url_encoded(std::string_view text);

}  // namespace paceline
