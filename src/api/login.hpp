// An account of this machine, as its name service tells.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.hpp"

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

inline constexpr Duration kLoginHolds = std::chrono::minutes{1};
inline constexpr Duration kNoLoginHolds = std::chrono::seconds{1};  // that there is none
inline constexpr std::size_t kLoginsMax = 1'024;                    // that are known at once

// What the users of this machine are called. A name service fails now and then: who had a name keeps it until
// there is another one.
class LoginNames {
 public:
  using Find = std::function<std::optional<Login>(std::uint32_t uid)>;
  explicit LoginNames(Find find = [](std::uint32_t uid) { return find_login(uid); })
      : find_(std::move(find)) {}

  // The number where there is none.
  std::string of(std::uint32_t uid, Time now);

 private:
  struct Known {
    std::string name;
    Time until;
  };
  Find find_;
  std::map<std::uint32_t, Known> known_;
};

}  // namespace paceline
