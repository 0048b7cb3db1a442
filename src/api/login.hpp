// An account of this machine, as its name service tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace paceline {

struct Login {
  std::string name;
  std::uint32_t uid = 0;
  std::string home;
  std::string shell;
  friend bool operator==(const Login&, const Login&) = default;
};

// Nothing: there is none.
std::optional<Login> find_login(std::uint32_t uid);
std::optional<Login> find_login(const std::string& name);

}  // namespace paceline
