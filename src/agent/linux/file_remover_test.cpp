#include "agent/linux/file_remover.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

class FileRemoverTest : public ::testing::Test {
 protected:
  // Turns until the file is gone, or for long.
  bool is_gone(const std::string& file) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (fs::exists(file) && std::chrono::steady_clock::now() < end)
      io_.run_one_for(std::chrono::milliseconds{20});
    return !fs::exists(file);
  }

  TempDirectory directory_;
  boost::asio::io_context io_;
  Chores chores_;
  FileRemover remover_{io_, chores_};
};

TEST_F(FileRemoverTest, RemovesWhatIsThereAndLeavesTheRest) {
  const auto one = directory_ / "one", other = directory_ / "other";
  std::ofstream(one) << "x";
  std::ofstream(other) << "x";
  remover_.remove({one, directory_ / "none", one + "/below"});
  EXPECT_TRUE(is_gone(one));
  EXPECT_TRUE(fs::exists(other));
  io_.run();  // nothing is left to try
}

TEST_F(FileRemoverTest, TriesAgainUntilItIsGone) {
  const auto file = directory_ / "claim";
  fs::create_directory(file);  // can't be unlinked
  remover_.remove({file});
  io_.run_for(std::chrono::milliseconds{1500});
  ASSERT_TRUE(fs::exists(file));
  fs::remove(file);
  std::ofstream(file) << "x";
  EXPECT_TRUE(is_gone(file));
}

}  // namespace
}  // namespace paceline::agent
