#include "store/sqlite/data_dir.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "store/sqlite/scratch_testing.hpp"

namespace paceline {
namespace {

// Root serves others, who pass to its socket.
std::filesystem::perms mode_of_new_directories() {
  using std::filesystem::perms;
  const auto others = perms::group_exec | perms::others_exec;
  return ::geteuid() == 0 ? perms::owner_all | others : perms::owner_all;
}

TEST(DataDir, IsMadeWithItsParents) {
  Scratch scratch;
  const auto dir = scratch.dir() / "a" / "b" / "c";
  EXPECT_TRUE(prepare_dir(dir));
  EXPECT_TRUE(std::filesystem::is_directory(dir));
  EXPECT_TRUE(prepare_dir(dir));
}

TEST(DataDir, MayHaveATrailingSlash) {
  Scratch scratch;
  EXPECT_TRUE(prepare_dir(scratch.dir() / "a/b/"));
  EXPECT_EQ(std::filesystem::status(scratch.dir() / "a" / "b").permissions(),
            mode_of_new_directories());
}

TEST(DataDir, IsNotMadeInAFile) {
  Scratch scratch;
  std::ofstream(scratch.dir() / "file") << "x";
  const auto under = prepare_dir(scratch.dir() / "file" / "dir");
  ASSERT_FALSE(under);
  EXPECT_EQ(under.error().code, ErrorCode::storage);
  EXPECT_EQ(under.error().hint, "Choose another directory with --dir.");
}

TEST(DataDir, KnowsNetworkFileSystems) {
  EXPECT_EQ(network_file_system({0x6969, ""}), "NFS");
  EXPECT_EQ(network_file_system({0xFF534D42, ""}), "CIFS");
  EXPECT_EQ(network_file_system({0x0BD00BD0, ""}), "Lustre");
  EXPECT_EQ(network_file_system({0x65735546, "fuse.sshfs"}), "sshfs");
}

TEST(DataDir, TakesFileSystemsOfThisMachine) {
  EXPECT_EQ(network_file_system({0xEF53, ""}), std::nullopt);      // ext4
  EXPECT_EQ(network_file_system({0x01021994, ""}), std::nullopt);  // tmpfs
  EXPECT_EQ(network_file_system({0x01021997, ""}), std::nullopt);  // 9p of a virtual machine
  EXPECT_EQ(network_file_system({0x65735546, "fuse.fuse-overlayfs"}), std::nullopt);
  EXPECT_EQ(network_file_system({0x65735546, "fuseblk"}), std::nullopt);
  EXPECT_EQ(network_file_system({0x65735546, ""}), std::nullopt);
}

}  // namespace
}  // namespace paceline
