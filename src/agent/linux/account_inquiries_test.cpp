#include "agent/linux/account_inquiries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "agent/linux/testing.hpp"
#include "agent/linux/user_names.hpp"

namespace paceline::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AccountInquiriesTest : public ::testing::Test {
 protected:
  void ask(const std::string& user, const std::string& name) {
    inquiries_->ask(user, [this, name](const FoundUid& found) {
      told_.push_back(name + " " + (found && *found ? std::to_string(**found) : "-"));
    });
  }
  bool has_told(std::size_t count) {
    return eventually([&] {
      io_.restart();
      io_.poll();
      return told_.size() >= count;
    });
  }

  boost::asio::io_context io_;
  HeldNames names_;
  std::optional<AccountInquiries> inquiries_{std::in_place, io_, names_.find()};
  std::vector<std::string> told_;
};

TEST_F(AccountInquiriesTest, AreAnsweredLaterAndOnTheLoop) {
  ask("ann", "first");
  EXPECT_TRUE(inquiries_->is_asked("ann"));
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_TRUE(has_told(1));
  EXPECT_THAT(told_, ElementsAre("first 1007"));
  EXPECT_FALSE(inquiries_->is_asked("ann"));
}

TEST_F(AccountInquiriesTest, OneThatHangsHoldsUpNoOther) {
  names_.hold("slow");
  ask("slow", "slow");
  ask("ann", "ann");
  ask("no-such-user", "nobody");
  EXPECT_TRUE(has_told(2));
  EXPECT_THAT(told_, ::testing::UnorderedElementsAre("ann 1007", "nobody -"));
  EXPECT_TRUE(inquiries_->is_asked("slow"));
  names_.release();
  EXPECT_TRUE(has_told(3));
  EXPECT_EQ(told_.back(), "slow 1008");
}

TEST_F(AccountInquiriesTest, OfOneUserShareAnAnswerInTheirOrder) {
  names_.hold("slow");
  for (const char* name : {"first", "second", "third"}) ask("slow", name);
  names_.release();
  EXPECT_TRUE(has_told(3));
  EXPECT_THAT(told_, ElementsAre("first 1008", "second 1008", "third 1008"));
  EXPECT_EQ(names_.asked(), 1);
}

TEST_F(AccountInquiriesTest, BeyondSoManyTheyStandInLine) {
  for (std::size_t i = 0; i < kInquiriesMax; ++i) {
    names_.hold("slow" + std::to_string(i));
    ask("slow" + std::to_string(i), "slow");
  }
  ask("ann", "ann");
  EXPECT_TRUE(eventually([&] { return names_.asked() == static_cast<int>(kInquiriesMax); }));
  io_.poll();
  EXPECT_THAT(told_, IsEmpty());
  names_.release();
  EXPECT_TRUE(has_told(kInquiriesMax + 1));
}

TEST_F(AccountInquiriesTest, OneThatHangsIsLeftBehind) {
  names_.hold("slow");
  ask("slow", "slow");
  EXPECT_TRUE(eventually([&] { return names_.asked() == 1; }));
  inquiries_.reset();
  names_.release();
  io_.poll();
  EXPECT_THAT(told_, IsEmpty());
}

TEST(UserNamesTest, AreToldOnceTheyAreKnown) {
  HeldNames held;
  held.hold("7");
  UserNames names([find = held.find()](std::uint32_t uid) -> std::optional<std::string> {
    if (const auto found = find(std::to_string(uid)); !found || !*found) return std::nullopt;
    return "ann";
  });
  EXPECT_EQ(names.of(7), std::nullopt);
  EXPECT_TRUE(eventually([&] { return names.of(4'000'000'001) == "user 4000000001"; }));
  EXPECT_EQ(names.of(7), std::nullopt);
  held.release();
  EXPECT_TRUE(eventually([&] { return names.of(7) == "ann"; }));
}

}  // namespace
}  // namespace paceline::agent
