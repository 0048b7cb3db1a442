#include "model/node.hpp"

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

}  // namespace paceline
