// Removes directories that users may still have a hand in. Whatever they hold, however deep it is and
// whoever goes on making more of it, a call takes a few descriptors and ends after so many steps.
//
//   while (remove_tree(path) == Removal::more) …    // other work comes between
//
//   const auto as = AsUser::begin(UserRights::of(uid));  // where a user's rights are to do
//   if (as) empty_tree(path);
#pragma once

#include <cstdint>
#include <string>

namespace paceline::agent {

enum class Removal {
  done,
  more,   // its steps are used up; the next call goes on
  stuck,  // this thread can't remove what is left, or lacks something
};

inline constexpr std::uint64_t kRemovalSteps = 200'000;  // entries looked at or moved: seconds

// Removes what is in the directory. Each directory is taken from its users before: what root's thread
// meets becomes root's, and only its owner's to enter. No link is followed, and nothing outside is
// touched but what was moved in meanwhile.
Removal empty_tree(const std::string& path, std::uint64_t steps_max = kRemovalSteps);

// The directory, too, or the file. One that is not there is done.
Removal remove_tree(const std::string& path, std::uint64_t steps_max = kRemovalSteps);

}  // namespace paceline::agent
