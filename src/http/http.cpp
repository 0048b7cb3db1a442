#include "http/http.hpp"

#include <algorithm>
#include <cctype>

#include "wire/error_json.hpp"

namespace paceline {
namespace {

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

Peer unix_peer(UnixAccount account) {
  return {.origin = "uid " + std::to_string(account.uid), .account = std::move(account)};
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (equal_in_any_case(key, name)) return value;
  }
  return {};
}

HttpResponse error_response(const Error& error) {
  return {.status = http_status(error.code), .body = error_body(error)};
}

}  // namespace paceline
