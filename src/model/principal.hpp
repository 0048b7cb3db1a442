// Who asks the server for something: which user it is, what they may be, and how the server knows.
// What each role may do is one table: api/access.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline {

enum class Role {
  viewer,     // sees what all may see
  user,       // has jobs of their own
  operator_,  // keeps the machines at work
  admin,      // whose server it is
  newcomer,   // a machine that has a join token, and may become a node
  node,       // a machine that joined
};
// A person may have every role up to this one; those behind it are machines'.
inline constexpr Role kLastRoleOfPeople = Role::admin;

enum class KnownBy {
  unix_socket,  // the kernel says whose process is at the other end
  token,        // a secret that was given to them
  certificate,  // the server's authority vouches for them
};

struct Principal {
  std::string user = {};  // the login name, or a node's id; empty where only the account was kept
  std::optional<std::uint32_t> uid =
      {};                        // the account that their jobs run as; none: they have none
  std::vector<Role> roles = {};  // ascending; none: they may do nothing
  KnownBy known_by = KnownBy::unix_socket;

  [[nodiscard]] bool is(Role role) const { return std::ranges::find(roles, role) != roles.end(); }
  friend bool operator==(const Principal&, const Principal&) = default;
};

// Known by their account alone, as older journals tell of them.
inline Principal account(std::uint32_t uid) { return {.uid = uid}; }

}  // namespace paceline
