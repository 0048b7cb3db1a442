#include "agent/linux/lookers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

// Lookers whose processes are forks of the test itself. Of the users in `hanging_` none answers.
class LookersTest : public ::testing::Test {
 protected:
  ~LookersTest() override {
    lookers_.reset();
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
  }

  Result<void> raise(UniqueFd socket) {
    ++raised_;
    if (hangs_) {
      hanging_.push_back(std::move(socket));
      return {};
    }
    const pid_t child = ::fork();
    if (child == 0) {
      const UniqueFd own(::dup2(socket.get(), 3));
      ::close_range(4, ~0U, 0);
      ::_exit(run_looker(own.get()));
    }
    children_.push_back(child);
    return {};
  }
  std::unique_ptr<Lookers> lookers(std::chrono::milliseconds patience) {
    return std::make_unique<Lookers>(
        io_, [this](UniqueFd socket) { return raise(std::move(socket)); }, patience);
  }
  void look(std::uint32_t uid, const std::string& pattern) {
    lookers_->look({uid, pattern, directory_.path(), 0},
                   [this](std::optional<CheckpointSearch> found, Duration took) {
                     answers_.push_back(found);
                     took_.push_back(took);
                   });
  }
  bool until_answered(std::size_t count) {
    return eventually([&] {
      io_.restart();
      io_.poll();
      return answers_.size() >= count;
    });
  }

  TempDirectory directory_;
  boost::asio::io_context io_;
  std::vector<pid_t> children_;
  std::vector<UniqueFd> hanging_;
  bool hangs_ = false;
  std::size_t raised_ = 0;
  std::vector<std::optional<CheckpointSearch>> answers_;
  std::vector<Duration> took_;
  std::unique_ptr<Lookers> lookers_ = lookers(std::chrono::minutes{1});
};

TEST_F(LookersTest, OneProcessServesAllLooksOfAUser) {
  ASSERT_TRUE(replace_file(AT_FDCWD, (directory_ / "a.pt").c_str(), "x"));
  for (int i = 0; i < 3; ++i) look(::geteuid(), "*.pt");
  ASSERT_TRUE(until_answered(3));
  for (const auto& answer : answers_) {
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->matches.size(), 1U);
    EXPECT_EQ(answer->matches[0].path, directory_ / "a.pt");
  }
  EXPECT_EQ(raised_, 1U);
}

// The first look begins to watch the directory.
TEST_F(LookersTest, AFileRenamedIntoPlaceIsToldFromOneWrittenThere) {
  look(::geteuid(), "*.pt");
  ASSERT_TRUE(until_answered(1));
  ASSERT_TRUE(replace_file(AT_FDCWD, (directory_ / "a.pt").c_str(), "x"));
  std::ofstream(directory_ / "b.pt") << "x";
  look(::geteuid(), "*.pt");
  ASSERT_TRUE(until_answered(2));
  ASSERT_TRUE(answers_[1]);
  for (const CheckpointMatch& match : answers_[1]->matches)
    EXPECT_EQ(match.renamed, match.path == directory_ / "a.pt") << match.path;
  EXPECT_EQ(answers_[1]->matches.size(), 2U);
}

TEST_F(LookersTest, WhoseFileSystemHangsHoldsUpNobodyElse) {
  lookers_ = lookers(std::chrono::seconds{3});
  hangs_ = true;
  look(::geteuid() + 1, "*");
  io_.poll();
  ASSERT_EQ(raised_, 1U);
  hangs_ = false;
  look(::geteuid(), "*");
  ASSERT_TRUE(until_answered(1));
  EXPECT_TRUE(answers_[0]);
  ASSERT_TRUE(until_answered(2));
  EXPECT_FALSE(answers_[1]);
}

TEST_F(LookersTest, AQuickLookAmongSlowOnesTakesLittle) {
  lookers_ = lookers(std::chrono::seconds{2});
  hangs_ = true;
  for (int i = 0; i < 2; ++i) look(::geteuid(), "*");
  ASSERT_TRUE(until_answered(1));
  EXPECT_GE(took_[0], 2 * std::chrono::seconds{2}) << "and once more as long for the other";
  hangs_ = false;
  look(::geteuid(), "*");
  ASSERT_TRUE(until_answered(3));
  EXPECT_GE(took_[1], std::chrono::seconds{2});
  EXPECT_LT(took_[2], took_[1]);
}

TEST_F(LookersTest, OnlySoManyProcessesOfAUserHang) {
  lookers_ = lookers(std::chrono::milliseconds{500});
  hangs_ = true;
  for (std::size_t i = 0; i < Lookers::kHangingMax + 3; ++i) look(5, "*");
  ASSERT_TRUE(until_answered(Lookers::kHangingMax + 3));
  EXPECT_EQ(raised_, Lookers::kHangingMax);
  hanging_.clear();
  look(5, "*");
  ASSERT_TRUE(until_answered(Lookers::kHangingMax + 4));
  EXPECT_EQ(raised_, Lookers::kHangingMax + 1);
}

TEST_F(LookersTest, AProcessThatDiedIsStartedAgain) {
  look(::geteuid(), "*");
  ASSERT_TRUE(until_answered(1));
  ::kill(children_[0], SIGKILL);
  ASSERT_EQ(::waitpid(children_[0], nullptr, 0), children_[0]);
  look(::geteuid(), "*");
  ASSERT_TRUE(until_answered(2));
  EXPECT_TRUE(answers_[1]);
  EXPECT_EQ(raised_, 2U);
}

TEST_F(LookersTest, SeesOnlyWhatTheOwnerMaySee) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root looks for others";
  ASSERT_TRUE(replace_file(AT_FDCWD, (directory_ / "a.pt").c_str(), "x"));
  look(65534, "*");
  ASSERT_TRUE(until_answered(1));
  ASSERT_TRUE(answers_[0]);
  EXPECT_TRUE(answers_[0]->matches.empty());
  ::chmod(directory_.path().c_str(), 0755);
  look(65534, "*");
  ASSERT_TRUE(until_answered(2));
  EXPECT_EQ(answers_[1]->matches.size(), 1U);
}

}  // namespace
}  // namespace paceline::agent
