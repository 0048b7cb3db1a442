#include "agent/linux/user_names.hpp"

#include <fmt/format.h>

#include <chrono>

namespace paceline::agent {
namespace {

constexpr std::chrono::milliseconds kMoment{250};
constexpr std::size_t kAskedMax = 64;

}  // namespace

std::optional<std::string> UserNames::of(std::uint32_t uid) {
  auto asked = asked_.find(uid);
  const bool waits = asked_.empty();
  if (asked == asked_.end()) {
    if (asked_.size() == kAskedMax) return std::nullopt;
    asked = asked_.try_emplace(uid, [find = find_, uid] { return find(uid); }).first;
  }
  const auto name = asked->second.answer(waits ? kMoment : std::chrono::milliseconds{0});
  if (!name) return std::nullopt;
  asked_.erase(asked);
  return name->value_or(fmt::format("user {}", uid));
}

}  // namespace paceline::agent
