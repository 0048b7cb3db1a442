#include "agent/linux/accounts.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "model/node.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kEntryBytes = 16 << 10;

// What "there is none" is called by name services of all kinds (getpwnam(3)).
bool means_none(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

// False: there is none.
bool read_account(std::uint32_t uid, passwd& entry, std::vector<char>& space) {
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, space.data(), space.size(), &found);
  return found != nullptr;
}

}  // namespace

FoundUid find_uid(const std::string& user) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> space(kEntryBytes);
  const int error = ::getpwnam_r(user.c_str(), &entry, space.data(), space.size(), &found);
  if (found != nullptr) return entry.pw_uid;
  if (means_none(error)) return std::nullopt;
  return fail(ErrorCode::unavailable,
              fmt::format("The accounts of this machine can't be read: {}.", std::strerror(error)),
              "", Retry::may_help);
}

std::optional<std::string> find_name(std::uint32_t uid) {
  passwd entry{};
  std::vector<char> space(kEntryBytes);
  return read_account(uid, entry, space) ? std::optional<std::string>(entry.pw_name) : std::nullopt;
}

std::string find_user(std::uint32_t uid) { return find_name(uid).value_or(std::to_string(uid)); }

std::uint32_t find_gid(std::uint32_t uid) {
  passwd entry{};
  std::vector<char> space(kEntryBytes);
  return read_account(uid, entry, space) ? entry.pw_gid : uid;
}

AccountBook::Machine AccountBook::this_machine() { return {::geteuid(), find_user(::geteuid())}; }

AccountBook::AccountBook(Accounts accounts, std::string node, Machine machine)
    : accounts_(accounts), node_(std::move(node)), machine_(std::move(machine)) {}

Result<void> AccountBook::refuse(const std::string& user, std::string why) {
  if (strangers_.size() == kStrangersMax) strangers_.erase(strangers_.begin());
  strangers_.insert(user);
  return fail(ErrorCode::conflict, std::move(why), "", Retry::may_help);
}

Result<void> AccountBook::identify(WorkerLaunch& launch, const FoundUid& found) {
  if (!is_named()) return {};
  launch.launch.groups.clear();
  const bool own = launch.user == machine_.user;
  if (machine_.uid != 0 && !own)
    return fail(ErrorCode::conflict,
                fmt::format("Node {} starts only jobs of '{}', whose agent it is: root's agent "
                            "would start those of everybody.",
                            node_, machine_.user),
                "", Retry::may_help);
  if (machine_.uid != 0) {
    launch.uid = machine_.uid;
    return {};
  }
  if (!found) return fail(found.error());
  if (!*found)
    return refuse(launch.user, fmt::format("There is no account '{}' on {}: make one there, or the "
                                           "job waits for other nodes ('paceline nodes').",
                                           launch.user, node_));
  if (!may_be(**found))
    return refuse(launch.user,
                  fmt::format("Node {} starts no job as root: submit it as a user, or start its "
                              "agent with --serve-root.",
                              node_));
  launch.uid = **found;
  return {};
}

std::string AccountBook::only_user() const {
  return is_named() && machine_.uid != 0 ? machine_.user : "";
}

std::vector<std::string> AccountBook::strangers() const {
  return {strangers_.begin(), strangers_.end()};
}

bool AccountBook::look_again(const std::string& user, const FoundUid& found) {
  return found && *found && may_be(**found) && strangers_.erase(user) > 0;
}

}  // namespace paceline::agent
