#include "agent/linux/user_names.hpp"

#include <fmt/format.h>

namespace paceline::agent {

std::optional<std::string> UserNames::of(std::uint32_t uid) {
  const auto name = asked_.answer(uid);
  if (!name) return std::nullopt;
  return name->value_or(fmt::format("user {}", uid));
}

}  // namespace paceline::agent
