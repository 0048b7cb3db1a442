#include "model/node.hpp"

#include <algorithm>

namespace paceline {

std::string_view to_string(SlotKind kind) {
  switch (kind) {
    case SlotKind::cpu:
      return "cpu";
    case SlotKind::gpu:
      return "gpu";
    case SlotKind::mig:
      return "mig";
  }
  return "cpu";
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

bool is_choosy(const NodeSpec& node) { return !node.only_user.empty() || !node.strangers.empty(); }

bool serves(const NodeSpec& node, const std::string& user) {
  if (!node.only_user.empty() && node.only_user != user) return false;
  return !std::binary_search(node.strangers.begin(), node.strangers.end(), user);
}

}  // namespace paceline
