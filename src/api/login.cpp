#include "api/login.hpp"

#include <fmt/format.h>
#include <pwd.h>

#include <vector>

namespace paceline {
namespace {

constexpr std::size_t kEntryBytes = 16 << 10;

// `ask` is getpwuid_r or getpwnam_r without what all calls of them have in common.
template <class Ask>
std::optional<Login> find(const Ask& ask) {
  std::vector<char> space(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (ask(&entry, space.data(), space.size(), &found) != 0 || found == nullptr) return std::nullopt;
  return Login{found->pw_name, found->pw_uid, found->pw_dir, found->pw_shell};
}

}  // namespace

std::optional<Login> find_login(std::uint32_t uid) {
  return find([&](auto... rest) { return ::getpwuid_r(uid, rest...); });
}

std::optional<Login> find_login(const std::string& name) {
  return find([&](auto... rest) { return ::getpwnam_r(name.c_str(), rest...); });
}

Result<std::string> LoginNames::of(std::uint32_t uid, Time now) {
  const auto login = known_.of(uid, now);
  if (!login) return fail(login.error());
  return *login ? (*login)->name : fmt::format("{}", uid);
}

}  // namespace paceline
