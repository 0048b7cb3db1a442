#include "files/as_user.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace paceline {
namespace {

constexpr int kGroupsMax = 65'536;

// Of this thread alone: glibc's own would change those of all.
bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

// What was set is told by asking for what can't be.
bool set_file_user(uid_t uid, gid_t group) {
  ::setfsgid(group);
  ::setfsuid(uid);
  return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))) == group &&
         static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))) == uid;
}

using Capabilities = std::array<__user_cap_data_struct, 2>;

// Of this thread.
bool read_capabilities(Capabilities& held) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, held.data()) == 0;
}

bool set_capabilities(const Capabilities& wanted) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, wanted.data()) == 0;
}

// setfsuid() leaves those that are not about files, and links in /proc are followed by way of one.
bool drop_effective(Capabilities held) {
  for (auto& each : held) each.effective = 0;
  return set_capabilities(held);
}

tl::unexpected<Error> not_taken_on(const UserRights& rights) {
  return fail(ErrorCode::forbidden,
              fmt::format("The rights of user {} can't be taken on.", rights.uid));
}

}  // namespace

UserRights UserRights::of(std::uint32_t uid) {
  if (::geteuid() != 0 || uid == 0) return {uid, 0, {}};
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> space(16 << 10);
  ::getpwuid_r(uid, &entry, space.data(), space.size(), &found);
  if (found == nullptr) return {uid, uid, {uid}};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0 &&
         count <= kGroupsMax)
    groups.resize(static_cast<std::size_t>(count));
  groups.resize(static_cast<std::size_t>(std::min(count, kGroupsMax)));
  return {uid, found->pw_gid, std::move(groups)};
}

Result<AsUser> AsUser::begin(const UserRights& rights) {
  AsUser as;
  if (::geteuid() != 0 || rights.uid == 0) return as;
  as.groups_.resize(kGroupsMax);
  const int groups = ::getgroups(kGroupsMax, as.groups_.data());
  as.groups_.resize(static_cast<std::size_t>(std::max(0, groups)));
  if (!read_capabilities(as.capabilities_)) return not_taken_on(rights);
  as.changed_ = true;
  if (set_groups(rights.groups) && set_file_user(rights.uid, rights.group) &&
      drop_effective(as.capabilities_))
    return as;
  return not_taken_on(rights);
}

AsUser::AsUser(AsUser&& other) noexcept
    : changed_(std::exchange(other.changed_, false)),
      groups_(std::move(other.groups_)),
      capabilities_(other.capabilities_) {}

AsUser::~AsUser() {
  if (!changed_) return;
  // The rest needs them. What setfsuid() took away comes back with it.
  set_capabilities(capabilities_);
  set_file_user(0, 0);
  set_groups(groups_);
}

}  // namespace paceline
