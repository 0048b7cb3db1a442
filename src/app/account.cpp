#include "app/account.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>
#include <shadow.h>

#include <array>

namespace paceline {
namespace {

constexpr std::size_t kEntryMax = 16384;

}  // namespace

std::optional<Account> find_account(std::uint32_t uid) {
  std::array<char, kEntryMax> space{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, space.data(), space.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  Account account{found->pw_name, found->pw_shell, std::nullopt};
  spwd secret{};
  spwd* shadow = nullptr;
  if (::getspnam_r(account.name.c_str(), &secret, space.data(), space.size(), &shadow) == 0 &&
      shadow != nullptr && shadow->sp_expire >= 0)
    account.expires = std::chrono::sys_days{std::chrono::days{shadow->sp_expire}};
  return account;
}

Result<void> may_run(const Account& account, std::chrono::sys_days today) {
  if (account.expires && today >= *account.expires)
    return fail(ErrorCode::forbidden,
                fmt::format("The account '{}' expired on {:%F}, so it runs no jobs.", account.name,
                            fmt::gmtime(std::chrono::system_clock::to_time_t(*account.expires))),
                "Ask the administrator of this machine to prolong it.");
  const std::string program = account.shell.substr(account.shell.rfind('/') + 1);
  if (program == "nologin" || program == "false")
    return fail(
        ErrorCode::forbidden,
        fmt::format("The account '{}' may not log in (its shell is {}), so it runs no jobs.",
                    account.name, account.shell),
        "Submit as another user, or ask the administrator for a shell.");
  return {};
}

Result<void> Accounts::operator()(std::uint32_t uid) {
  if (uid == 0) return {};
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto account = known_.of(uid, Time{std::chrono::duration_cast<Duration>(now)});
  if (!account) return fail(account.error());
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return *account ? may_run(**account, today) : Result<void>{};
}

}  // namespace paceline
