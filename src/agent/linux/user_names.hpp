// Names of users, for people to read. The name service may take its time or hang; nobody waits for it for long.
//
//   if (!user) user = names.of(uid);                 // once more at the next look
//   user.value_or(fmt::format("user {}", uid))
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/linux/accounts.hpp"
#include "files/inquiries.hpp"

namespace paceline::agent {

class UserNames {
 public:
  using Find = std::function<std::optional<std::string>(std::uint32_t uid)>;

  // `find` is called on other threads, and what it works on is its own: it may outlive this.
  explicit UserNames(Find find = find_name) : asked_(std::move(find)) {}

  // "ann", or "user 1000" where there is no account. Nothing: nobody knows yet.
  std::optional<std::string> of(std::uint32_t uid);

 private:
  Inquiries<std::uint32_t, std::optional<std::string>> asked_;
};

}  // namespace paceline::agent
