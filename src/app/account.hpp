// Whether an account may run jobs on a shared server: as one may log in, so far as that stands in
// the account itself. An account that expired, or whose shell is nologin or false, may not. A
// locked password (keys and tickets do without), PAM and its limits.conf are not looked at.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "files/known_entries.hpp"

namespace paceline {

struct Account {
  std::string name;
  std::string shell;
  std::optional<std::chrono::sys_days> expires;  // from this day on it is expired
};

// Errors: forbidden.
Result<void> may_run(const Account& account, std::chrono::sys_days today);

// Nothing: there is none. Asks the name service, which may take its time or hang.
std::optional<Account> find_account(std::uint32_t uid);

// The accounts of this machine, by user id. Asks the name service about each once a minute at most.
// Whoever has no account may submit: the agent that starts the job says what is missing.
class Accounts {
 public:
  using Known = KnownEntries<std::uint32_t, Account>;
  explicit Accounts(Known::Find find = find_account)
      : known_(std::move(find), {.none_holds = std::chrono::minutes{1}}) {}

  // Errors: forbidden; unavailable (may_help): nobody knows now.
  Result<void> operator()(std::uint32_t uid);

 private:
  Known known_;
};

}  // namespace paceline
