// Whether an account may run jobs on a shared server: as one may log in, so far as that stands in
// the account itself. An account that expired, or whose shell is nologin or false, may not. A
// locked password (keys and tickets do without), PAM and its limits.conf are not looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace paceline {

struct Account {
  std::string name;
  std::string shell;
  std::optional<std::chrono::sys_days> expires;  // from this day on it is expired
};

// Errors: forbidden.
Result<void> may_run(const Account& account, std::chrono::sys_days today);

// The accounts of this machine, by user id. Asks the name service about each once a minute at most.
// Whoever has no account may submit: the agent that starts the job says what is missing.
class Accounts {
 public:
  Result<void> operator()(std::uint32_t uid);

 private:
  struct Answer {
    Result<void> may;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::uint32_t, Answer> known_;
};

}  // namespace paceline
