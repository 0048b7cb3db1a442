#include "store/sqlite/dir_lock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "store/sqlite/scratch_testing.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace paceline {
namespace {

TEST(DirLock, RefusesASecondServerWithThePidOfTheFirst) {
  Scratch scratch;
  const auto first = DirLock::take(scratch.dir());
  ASSERT_TRUE(first);
  const auto second = DirLock::take(scratch.dir());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_EQ(second.error().message, fmt::format("Paceline already runs on {} (pid {}).",
                                                scratch.dir().string(), ::getpid()));
}

TEST(DirLock, HoldsAlsoWhenItsFileIsDeletedOrReplaced) {
  Scratch scratch;
  const auto first = DirLock::take(scratch.dir());
  ASSERT_TRUE(first);
  std::filesystem::remove(scratch.dir() / "paceline.lock");
  const auto second = DirLock::take(scratch.dir());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_EQ(second.error().message,
            fmt::format("Paceline already runs on {}.", scratch.dir().string()));
}

// SQLite's own locks are on the same file, and are dropped by whoever closes it.
TEST(DirLock, HoldsWhileADatabaseIsOpenedAndClosed) {
  Scratch scratch;
  const auto lock = DirLock::take(scratch.dir());
  ASSERT_TRUE(lock);
  ASSERT_TRUE(SqliteStore::open(scratch.dir()));
  ASSERT_TRUE(SqliteStore::open_to_read(scratch.database()));
  std::filesystem::remove(scratch.dir() / "paceline.lock");
  EXPECT_FALSE(DirLock::take(scratch.dir()));
}

TEST(DirLock, FollowsNoLinks) {
  Scratch scratch;
  for (const auto* name : {"paceline.lock", "paceline.db"}) {
    std::filesystem::create_symlink(scratch.dir() / "elsewhere", scratch.dir() / name);
    const auto refused = DirLock::take(scratch.dir());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
    EXPECT_EQ(refused.error().message,
              (scratch.dir() / name).string() + " is a link instead of a file.");
    EXPECT_FALSE(std::filesystem::exists(scratch.dir() / "elsewhere"));
    std::filesystem::remove(scratch.dir() / name);
  }
}

TEST(DirLock, IsFreeOnceItsOwnerIsGone) {
  Scratch scratch;
  std::optional<DirLock> first = DirLock::take(scratch.dir()).value();
  first.reset();
  EXPECT_TRUE(DirLock::take(scratch.dir()));
}

TEST(DirLock, IsFreeOnceItsProcessIsKilled) {
  Scratch scratch;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = DirLock::take(scratch.dir());
    [[maybe_unused]] const auto told = ::write(ready[1], lock ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char locked = 0;
  ASSERT_EQ(::read(ready[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  const auto refused = DirLock::take(scratch.dir());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(fmt::format("(pid {})", child)), std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(DirLock::take(scratch.dir()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(DirLock, MakesItsDirectory) {
  Scratch scratch;
  EXPECT_TRUE(DirLock::take(scratch.dir() / "new"));
}

}  // namespace
}  // namespace paceline
