// Does what follows in this thread with the rights that a user has on files, and no others: root's threads
// touch nothing for a user that they may not touch themselves.
//
//   auto as = AsUser::begin(UserRights::of(uid));
//   if (!as) return fail(as.error());
//   …                                // until the end of the scope
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace paceline {

struct UserRights {
  uid_t uid = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;

  // Those of the account; without one, that user's alone. Asks the name service, which may take its time.
  static UserRights of(std::uint32_t uid);
};

class AsUser {
 public:
  // For root as themselves, and for others, who have no rights but their own, it changes nothing. Errors:
  // forbidden: the rights can't be taken on.
  static Result<AsUser> begin(const UserRights& rights);
  ~AsUser();
  AsUser(AsUser&& other) noexcept;
  AsUser& operator=(AsUser&&) = delete;

 private:
  AsUser() = default;

  bool changed_ = false;
  std::vector<gid_t> groups_;  // before
  std::array<__user_cap_data_struct, 2> capabilities_{};
};

}  // namespace paceline
