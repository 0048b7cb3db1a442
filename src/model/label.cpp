#include "model/label.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/utf8.hpp"

namespace paceline {
namespace {

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/").find(c) != std::string_view::npos;
}

bool is_address_character(char c) {
  return (is_key_character(c) && c != '/') || c == ':' || c == '%';
}

Result<void> validate_label(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kLabelKeyMax || !std::ranges::all_of(key, is_key_character)) {
    return fail(ErrorCode::invalid,
                fmt::format("A label's key has 1 to {} letters, digits or ._-/, unlike '{}'.",
                            kLabelKeyMax, key.substr(0, kLabelKeyMax)),
                "Write KEY=VALUE, for example disk=nvme.");
  }
  const bool readable = is_visible(value) && value.find('~') == std::string_view::npos;
  if (value.empty() || value.size() > kLabelValueMax || !readable) {
    return fail(ErrorCode::invalid,
                fmt::format("The value of the label '{}' must have 1 to {} printable bytes "
                            "without '~'.",
                            key, kLabelValueMax),
                "Write KEY=VALUE, for example disk=nvme.");
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, std::string>> parse_label(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is no label.", text),
                "Write KEY=VALUE, for example disk=nvme.");
  }
  const auto key = text.substr(0, equals), value = text.substr(equals + 1);
  if (auto ok = validate_label(key, value); !ok) return fail(std::move(ok.error()));
  return std::pair{std::string(key), std::string(value)};
}

Result<void> validate_labels(const Labels& labels) {
  if (labels.size() > kLabelsMax) {
    return fail(ErrorCode::too_large,
                fmt::format("A node has at most {} labels, not {}.", kLabelsMax, labels.size()),
                "Give it fewer.");
  }
  for (const auto& [key, value] : labels) {
    if (auto ok = validate_label(key, value); !ok) return ok;
  }
  return {};
}

Result<void> validate_place(std::string_view what, std::string_view name) {
  if (name.size() <= kPlaceNameMax && is_visible(name)) return {};
  return fail(
      ErrorCode::invalid,
      fmt::format("The name of a {} must have at most {} printable bytes.", what, kPlaceNameMax),
      "Give a shorter or plainer one.");
}

Result<void> validate_address(std::string_view address) {
  const bool sound = !address.empty() && address.size() <= kAddressMax && address.front() != '-' &&
                     std::ranges::all_of(address, is_address_character);
  if (sound) return {};
  return fail(
      ErrorCode::invalid,
      fmt::format("'{}' is no address: it has 1 to {} letters, digits or .-_:%.",
                  is_visible(address) ? address.substr(0, kPlaceNameMax) : "?", kAddressMax),
      "Give a number or a name without a port: 10.0.0.7, fd00::7 or gpu-box.");
}

bool has_label(const Labels& labels, const Affinity& term) {
  check(term.to == AffinityTo::label, "only a term that is to a label asks for one");
  const auto found = labels.find(term.name);
  return found != labels.end() && (term.value.empty() || term.value == found->second);
}

}  // namespace paceline
