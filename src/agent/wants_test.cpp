#include "agent/wants.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace paceline::agent {
namespace {

TEST(Wants, AreTheMachinesFault) {
  for (const int error : {ENOSPC, EDQUOT, EMFILE, ENFILE, EAGAIN, ENOMEM, EIO, EROFS, ENOLCK})
    EXPECT_EQ(blame(StartStep::server, error), Cause::refused) << error;
  for (const int error : {ENOSPC, EDQUOT, EMFILE, ENFILE, EAGAIN, ENOMEM, EIO})
    EXPECT_EQ(blame(StartStep::job, error), Cause::refused) << error;
}

TEST(Wants, AreNotWhatAJobAsksForAndIsNotThere) {
  for (const int error : {ENOENT, EACCES, EPERM, ENOTDIR, ENOEXEC, E2BIG, ETXTBSY, ELOOP})
    for (const auto step : {StartStep::server, StartStep::job})
      EXPECT_EQ(blame(step, error), Cause::launch_failed) << error;
  EXPECT_EQ(blame(StartStep::job, EROFS), Cause::launch_failed);
}

TEST(Wants, EachStandsOnceAndSaysWhatToDo) {
  std::set<int> seen;
  for (const Want& want : wants()) {
    EXPECT_TRUE(seen.insert(want.error_number).second) << want.error_number;
    EXPECT_FALSE(want.remedy.empty());
    EXPECT_EQ(find_want(want.error_number), &want);
  }
  EXPECT_EQ(find_want(ENOENT), nullptr);
}

}  // namespace
}  // namespace paceline::agent
