// The target of a request line: what is read is a path without borders that nobody wrote.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "http/url.hpp"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view target(reinterpret_cast<const char*>(data), size);
  const auto url = parse_url(target);
  if (!url) {
    check(!url.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  const auto path = target.substr(0, target.find('?'));
  check(url->path.starts_with('/'), "a path begins with a slash");
  check(url->path.find('\0') == std::string::npos || path.find('\0') != path.npos,
        "no escape makes a NUL");
  check(std::ranges::count(url->path, '/') == std::ranges::count(path, '/'),
        "no escape makes a border");
  return 0;
}
