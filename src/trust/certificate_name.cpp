#include "trust/certificate_name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/number.hpp"

namespace paceline {
namespace {

constexpr std::string_view kServerUri = "paceline:server";
constexpr std::string_view kNodeUri = "paceline:node:";
constexpr std::size_t kNodeIdMax = 63;

bool may_stand_in_id(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

bool is_node_id(std::string_view text) {
  return !text.empty() && text.size() <= kNodeIdMax && std::ranges::all_of(text, may_stand_in_id);
}

std::string to_uri(const CertificateName& name) {
  if (name.holder == Holder::server) return std::string(kServerUri);
  check(is_node_id(name.node) && name.serial > 0, "a node has an id and a serial");
  return fmt::format("{}{}:{}", kNodeUri, name.node, name.serial);
}

std::optional<CertificateName> parse_certificate_name(std::string_view uri) {
  if (uri == kServerUri) return CertificateName{};
  if (!uri.starts_with(kNodeUri)) return std::nullopt;
  uri.remove_prefix(kNodeUri.size());
  const auto colon = uri.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto id = uri.substr(0, colon);
  const auto serial = uri.substr(colon + 1);
  const auto number = parse_number<std::uint64_t>(serial);
  if (!is_node_id(id) || !number || *number == 0 || serial.starts_with('0')) return std::nullopt;
  return CertificateName{Holder::node, std::string(id), *number};
}

}  // namespace paceline
