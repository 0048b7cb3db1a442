#include "agent/linux/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

class MachineTest : public ::testing::Test {
 protected:
  MachineTest() { fs::create_directories(directory_ / "workers"); }

  [[nodiscard]] std::string identity() const { return identify_machine(directory_.path()); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }

  TempDirectory directory_;
};

TEST_F(MachineTest, IsDrawnOnceAndStays) {
  const std::string first = identity();
  EXPECT_EQ(first.size(), 32U);
  write("workers/1.1.0", "a claim");
  EXPECT_EQ(identity(), first);
}

TEST_F(MachineTest, TwoDirectoriesAreTwoMachines) {
  const TempDirectory other;
  EXPECT_NE(identity(), identify_machine(other.path()));
}

TEST_F(MachineTest, WhereClaimsAreOlderItIsNotKnown) {
  write("workers/1.1.0", "a claim");
  EXPECT_EQ(identity(), "");
  fs::remove(directory_ / "workers/1.1.0");
  EXPECT_NE(identity(), "");
}

TEST_F(MachineTest, ADamagedOneIsNotBelieved) {
  for (const char* text :
       {"", "short", "0123456789abcdef0123456789abcdeZ", "0123456789abcdef0123456789abcdef\n"}) {
    write("machine", text);
    EXPECT_EQ(identity(), "") << text;
  }
}

TEST_F(MachineTest, WhereItCannotBeKeptItIsNotKnown) {
  EXPECT_EQ(identify_machine(directory_ / "nowhere"), "");
}

}  // namespace
}  // namespace paceline::agent
