#include "agent/linux/accounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "model/node.hpp"

namespace paceline::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint32_t kAnnsHere = 1007;
constexpr std::uint32_t kBobs = 1000;

// As the server's machine knows its owner: by another number than this one.
WorkerLaunch launch_of(const std::string& user) {
  WorkerLaunch launch;
  launch.user = user;
  launch.uid = 1000;
  launch.launch.groups = {1000, 44};
  return launch;
}

class AccountBookTest : public ::testing::Test {
 protected:
  AccountBook book(std::uint32_t uid, const std::string& user,
                   Accounts accounts = Accounts::by_name) {
    return {accounts, "gpu-3", {uid, user}};
  }
  Result<void> identify(AccountBook& book, WorkerLaunch& launch) {
    return book.identify(launch, book.must_ask() ? find(launch.user) : FoundUid{});
  }
  FoundUid find(const std::string& name) {
    if (silent) return fail(ErrorCode::unavailable, "no answer", "", Retry::may_help);
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::uint32_t> known{{"ann", kAnnsHere}, {"toor", 0}};
  bool silent = false;
};

TEST_F(AccountBookTest, BelievesTheServerOnItsOwnMachine) {
  AccountBook told = book(0, "root", Accounts::as_told);
  WorkerLaunch launch = launch_of("nobody-knows");
  const WorkerLaunch before = launch;
  ASSERT_TRUE(identify(told, launch));
  EXPECT_EQ(launch, before);
  EXPECT_EQ(told.only_user(), "");
}

TEST_F(AccountBookTest, TakesTheAccountOfThatNameWithItsOwnGroups) {
  AccountBook roots = book(0, "root");
  WorkerLaunch launch = launch_of("ann");
  ASSERT_TRUE(identify(roots, launch));
  EXPECT_EQ(launch.uid, kAnnsHere);
  EXPECT_THAT(launch.launch.groups, IsEmpty());
  EXPECT_EQ(roots.only_user(), "");
  EXPECT_THAT(roots.strangers(), IsEmpty());
}

TEST_F(AccountBookTest, RefusesWhoHasNoAccountAndSaysSo) {
  AccountBook roots = book(0, "root");
  WorkerLaunch launch = launch_of("bob");
  const auto known_here = identify(roots, launch);
  ASSERT_FALSE(known_here);
  EXPECT_EQ(known_here.error().code, ErrorCode::conflict) << "of this job alone";
  EXPECT_EQ(known_here.error().retry, Retry::may_help);
  EXPECT_THAT(known_here.error().message, HasSubstr("There is no account 'bob' on gpu-3"));
  EXPECT_THAT(roots.strangers(), ElementsAre("bob"));
}

TEST_F(AccountBookTest, AStrangerIsNoneOnceThereIsAnAccount) {
  AccountBook roots = book(0, "root");
  WorkerLaunch launch = launch_of("bob");
  ASSERT_FALSE(identify(roots, launch));
  EXPECT_FALSE(roots.look_again("bob", find("bob")));
  silent = true;
  EXPECT_FALSE(roots.look_again("bob", find("bob")));
  silent = false;
  known["bob"] = kBobs;
  EXPECT_TRUE(roots.look_again("bob", find("bob")));
  EXPECT_THAT(roots.strangers(), IsEmpty());
  EXPECT_TRUE(identify(roots, launch));
}

TEST_F(AccountBookTest, NamesAFewStrangersAtMost) {
  AccountBook roots = book(0, "root");
  for (std::size_t i = 0; i < kStrangersMax + 9; ++i) {
    WorkerLaunch launch = launch_of("user" + std::to_string(i));
    ASSERT_FALSE(identify(roots, launch));
  }
  EXPECT_EQ(roots.strangers().size(), kStrangersMax);
}

TEST_F(AccountBookTest, RunsNothingAsRootHoweverItIsCalled) {
  AccountBook roots = book(0, "root");
  known["root"] = 0;
  for (const char* name : {"root", "toor"}) {
    WorkerLaunch launch = launch_of(name);
    const auto known_here = identify(roots, launch);
    ASSERT_FALSE(known_here);
    EXPECT_THAT(known_here.error().message, HasSubstr("starts no job as root"));
    EXPECT_NE(launch.uid, 0U);
  }
  EXPECT_THAT(roots.strangers(), ElementsAre("root", "toor"));
}

TEST_F(AccountBookTest, RunsRootsJobsWhereThatIsSaid) {
  known["root"] = 0;
  AccountBook roots = book(0, "root", Accounts::by_name_and_root);
  WorkerLaunch launch = launch_of("root");
  ASSERT_TRUE(identify(roots, launch));
  EXPECT_EQ(launch.uid, 0U);
  EXPECT_THAT(launch.launch.groups, IsEmpty());
  WorkerLaunch stranger = launch_of("bob");
  EXPECT_FALSE(identify(roots, stranger));
}

TEST_F(AccountBookTest, ASilentNameServiceIsTheMachinesFault) {
  AccountBook roots = book(0, "root");
  silent = true;
  WorkerLaunch launch = launch_of("ann");
  const auto known_here = identify(roots, launch);
  ASSERT_FALSE(known_here);
  EXPECT_EQ(known_here.error().code, ErrorCode::unavailable);
  EXPECT_THAT(roots.strangers(), IsEmpty());
}

TEST_F(AccountBookTest, AnAgentThatIsNotRootsServesItsOwnUserAlone) {
  AccountBook anns = book(kAnnsHere, "ann");
  EXPECT_EQ(anns.only_user(), "ann");
  WorkerLaunch own = launch_of("ann");
  ASSERT_TRUE(identify(anns, own));
  EXPECT_EQ(own.uid, kAnnsHere);
  EXPECT_THAT(own.launch.groups, IsEmpty());
  for (const char* other : {"bob", "root"}) {
    WorkerLaunch launch = launch_of(other);
    const auto known_here = identify(anns, launch);
    ASSERT_FALSE(known_here);
    EXPECT_EQ(known_here.error().code, ErrorCode::conflict);
    EXPECT_THAT(known_here.error().message, HasSubstr("only jobs of 'ann'"));
  }
}

TEST(AccountsOfThisMachine, AreFoundByNameAndByNumber) {
  const auto root = find_uid("root");
  ASSERT_TRUE(root && *root);
  EXPECT_EQ(**root, 0U);
  EXPECT_EQ(find_user(0), "root");
  const auto nobody = find_uid("no-such-user-here");
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(*nobody);
  EXPECT_EQ(find_user(4'000'000'001), "4000000001") << "serves nobody, not everybody";
  EXPECT_EQ(AccountBook::this_machine().uid, ::geteuid());
}

}  // namespace
}  // namespace paceline::agent
