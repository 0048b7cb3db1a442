#include "app/account.hpp"

#include <gtest/gtest.h>

#include "files/held_testing.hpp"

namespace paceline {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

constexpr sys_days kToday{days{20'000}};  // 2024-10-04

TEST(Account, OfAPersonMayRunJobs) {
  EXPECT_TRUE(may_run({"ann", "/bin/bash", {}}, kToday));
  EXPECT_TRUE(may_run({"ann", "/bin/bash", kToday + days{1}}, kToday));
  EXPECT_TRUE(may_run({"ann", "", {}}, kToday)) << "which stands for /bin/sh";
}

TEST(Account, ThatExpiredRunsNone) {
  const auto refused = may_run({"ann", "/bin/bash", kToday}, kToday);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
  EXPECT_EQ(refused.error().message,
            "The account 'ann' expired on 2024-10-04, so it runs no jobs.");
  EXPECT_FALSE(may_run({"ann", "/bin/bash", sys_days{}}, kToday)) << "as 'chage -E 0' writes it";
}

TEST(Account, WithoutALoginShellRunsNone) {
  for (const char* shell : {"/usr/sbin/nologin", "/sbin/nologin", "/bin/false"}) {
    const auto refused = may_run({"daemon", shell, {}}, kToday);
    ASSERT_FALSE(refused) << shell;
    EXPECT_NE(refused.error().message.find(shell), std::string::npos);
  }
}

TEST(Accounts, OfRootAndOfNobodyKnownArePassed) {
  Accounts accounts;
  EXPECT_TRUE(accounts(0));
  EXPECT_TRUE(comes_true([&] { return accounts(3'999'999'999).has_value(); }));
}

TEST(Accounts, WhatWasKnownOfOneGoesOnWhileTheNameServiceHangs) {
  HeldEntries<std::uint32_t, Account> service;
  service.tell(7, Account{"ann", "/bin/bash", {}});
  Accounts accounts(service.find());
  service.hold(7);
  const auto unknown = accounts(7);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(accounts(0)) << "who need not be looked up";
  service.release();
  EXPECT_TRUE(comes_true([&] { return accounts(7).has_value(); }));
  service.hold(7);
  EXPECT_TRUE(accounts(7));
}

}  // namespace
}  // namespace paceline
