#include "ship/pack.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "files/temp_folder_testing.hpp"
#include "ship/store.hpp"
#include "ship/unpack.hpp"
#include "trust/sha256.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Another process that has a lease on a file, and gives it up when it is asked to.
class LeaseHolder {
 public:
  explicit LeaseHolder(const std::string& path) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) hold(path, writing.get());
    writing.reset();
    char held = 0;
    holds_ = ::read(reading.get(), &held, 1) == 1 && held == 'y';
  }
  LeaseHolder(const LeaseHolder&) = delete;
  LeaseHolder& operator=(const LeaseHolder&) = delete;
  ~LeaseHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  [[noreturn]] static void hold(const std::string& path, int told) {
    sigset_t asked;
    ::sigemptyset(&asked);
    ::sigaddset(&asked, SIGIO);
    ::sigprocmask(SIG_BLOCK, &asked, nullptr);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    const char held = ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? 'y' : 'n';
    static_cast<void>(::write(told, &held, 1) < 0);
    ::sigwaitinfo(&asked, nullptr);
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    while (true) ::pause();
  }

  pid_t pid_ = 0;
  bool holds_ = false;
};

class PackTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text = "x") const {
    std::filesystem::create_directories((top() / path).parent_path());
    std::ofstream(top() / path) << text;
  }
  static std::vector<std::string> paths_of(const Manifest& manifest) {
    std::vector<std::string> paths;
    for (const auto& file : manifest.files) paths.push_back(file.path);
    return paths;
  }
  [[nodiscard]] std::vector<std::string> packed(std::vector<std::string> paths = {}) const {
    const auto manifest = pack({top(), std::move(paths)});
    EXPECT_TRUE(manifest) << (manifest ? "" : manifest.error().message);
    return manifest ? paths_of(*manifest) : std::vector<std::string>{};
  }
  [[nodiscard]] std::filesystem::path top() const { return folder_.path() / "work"; }

  TempFolder folder_;
};

TEST_F(PackTest, TakesAllButWhatTheIgnoreFilesName) {
  write("train.py");
  write("src/a.py");
  write("src/a.pyc");
  write("src/deep/keep.log");
  write("data/big.bin");
  write(".git/config");
  write("src/.git/x");
  write(".gitignore", "*.pyc\n*.log\n");
  write(".pacelineignore", "/data/\n");
  write("src/deep/.gitignore", "!keep.log\n");
  EXPECT_THAT(packed(), ElementsAre(".gitignore", ".pacelineignore", "src/a.py",
                                    "src/deep/.gitignore", "src/deep/keep.log", "train.py"));
}

TEST_F(PackTest, FoldersAboveCountAsFarAsTheirRepository) {
  write("a.ckpt");
  write("a.py");
  write("b/x.py");
  std::ofstream(folder_.path() / ".gitignore") << "*.ckpt\n/work/b\n";
  EXPECT_THAT(packed(), ElementsAre("a.ckpt", "a.py", "b/x.py"));
  std::filesystem::create_directory(folder_.path() / ".git");
  EXPECT_THAT(packed(), ElementsAre("a.py"));
}

TEST_F(PackTest, OfNamedPathsTakesTheseAlone) {
  write("train.py");
  write("src/a.py");
  write("src/b.log");
  write("logs/keep.log");
  write("other/c.py");
  write(".gitignore", "*.log\nlogs/\n");
  EXPECT_THAT(packed({"train.py", "./src/"}), ElementsAre("src/a.py", "train.py"));
  EXPECT_THAT(packed({"logs/keep.log"}), ElementsAre("logs/keep.log"));
  EXPECT_FALSE(pack({top(), {"../x"}}));
  EXPECT_THAT(pack({top(), {"gone"}}).error().message, HasSubstr("nothing 'gone'"));
}

TEST_F(PackTest, KeepsLinksInsideAndEmptyFoldersAndPassesOverSockets) {
  write("a/b.py");
  std::filesystem::create_directories(top() / "out");
  std::filesystem::create_symlink("a/b.py", top() / "latest");
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (top() / "s").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto manifest = pack({top()});
  ASSERT_TRUE(manifest);
  EXPECT_THAT(manifest->links, ElementsAre(ShipLink{"latest", "a/b.py"}));
  EXPECT_THAT(manifest->directories, ElementsAre("out"));
  EXPECT_EQ(manifest->files.size(), 1U);
  std::filesystem::create_symlink("/etc", top() / "etc");
  const auto refused = pack({top()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'etc' leads out of the directory, to '/etc'"));
}

TEST_F(PackTest, WhatIsTooLargeIsSaidBeforeItIsRead) {
  write("a.bin");
  std::filesystem::resize_file(top() / "a.bin", kShipBytesMax + 1);
  const auto refused = pack({top()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("larger than 2 GiB"));
}

// As a file server does while a client of it works on the file.
TEST_F(PackTest, ALeaseThatIsGivenUpKeepsNothingBehind) {
  write("a.py");
  const LeaseHolder holder(top() / "a.py");
  if (!holder.holds()) GTEST_SKIP() << "no leases here";
  EXPECT_THAT(packed(), ElementsAre("a.py"));
}

TEST_F(PackTest, WhatIsAPipeByNowIsRefusedAtOnce) {
  write("a.py");
  const auto manifest = pack({top()});
  ASSERT_TRUE(manifest);
  std::filesystem::remove(top() / "a.py");
  ASSERT_EQ(::mkfifo((top() / "a.py").c_str(), 0600), 0);
  EXPECT_FALSE(pack_piece(top(), manifest->files[0], 0, 1));
}

TEST_F(PackTest, UnpacksAsItWasPacked) {
  write("run.sh", "#!/bin/sh\n");
  write("a/b/c.txt", std::string(600'000, 'c'));
  write("empty", "");
  ::chmod((top() / "run.sh").c_str(), 0750);
  std::filesystem::create_directories(top() / "out");
  std::filesystem::create_symlink("../run.sh", top() / "a/link");
  const auto manifest = pack({top()});
  ASSERT_TRUE(manifest);
  const auto directory = folder_.path() / "ships";
  ShipStore store({.directory = directory});
  const auto offered = store.offer(7, *manifest);
  ASSERT_TRUE(offered);
  for (const auto& file : offered->missing) {
    std::uint64_t at = 0;
    do {
      const auto bytes = pack_piece(top(), file, at, 256 << 10);
      ASSERT_TRUE(bytes);
      ASSERT_TRUE(
          store.take(7, {file.sha256, at, static_cast<std::uint32_t>(bytes->size())}, *bytes));
      at += bytes->size();
    } while (at < file.bytes);
  }
  const Unpacking order{directory, 7, offered->name, folder_.path() / "there", {}};
  const auto done = unpack_ship(order);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*pack({folder_.path() / "there"}), *manifest);
  struct stat info {};
  ASSERT_EQ(::stat((folder_.path() / "there/run.sh").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "there.part"));
}

TEST_F(PackTest, ADamagedShipIsNotUnpacked) {
  write("a.py", "one");
  const auto manifest = pack({top()});
  const auto directory = folder_.path() / "ships";
  ShipStore store({.directory = directory});
  const auto offered = store.offer(7, *manifest);
  const auto& digest = manifest->files[0].sha256;
  ASSERT_TRUE(store.take(7, {digest, 0, 3}, "one"));
  std::ofstream(directory / "7/files" / digest) << "two";
  const Unpacking order{directory, 7, offered->name, folder_.path() / "there", {}};
  const auto damaged = unpack_ship(order);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::data);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "there"));
  EXPECT_FALSE(store.has(7, offered->name));
  EXPECT_EQ(unpack_ship(order).error().code, ErrorCode::not_found);
}

TEST_F(PackTest, WhatCameJustNowIsGivenAwayAndTheStoreGetsACopy) {
  write("a.py", "one");
  write("b.py", "two");
  write("same.py", "two");
  const auto manifest = pack({top()});
  const auto directory = folder_.path() / "ships", there = folder_.path() / "there";
  ShipStore store({.directory = directory});
  const auto offered = store.offer(7, *manifest);
  std::set<std::string> fresh;
  for (const auto* text : {"one", "two"}) {
    const auto digest = to_hex(sha256(text));
    const auto whole = store.take(7, {digest, 0, 3}, text);
    EXPECT_TRUE(whole && *whole);
    fresh.insert(digest);
  }
  const auto number = [](const std::filesystem::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
  };
  const auto one = directory / "7/files" / to_hex(sha256("one"));
  const auto two = directory / "7/files" / to_hex(sha256("two"));
  ASSERT_TRUE(unpack_ship({directory, 7, offered->name, there, {}, fresh}));
  EXPECT_EQ(*pack({there}), *manifest);
  EXPECT_EQ(number(there / "a.py"), number(one));
  EXPECT_NE(number(there / "b.py"), number(there / "same.py"));
  std::ofstream(there / "b.py") << "2";
  restock_ships(directory, 7, fresh);
  EXPECT_NE(number(there / "a.py"), number(one));
  EXPECT_NE(number(one), 0U);
  EXPECT_EQ(number(two), 0U) << "it was changed before";
  EXPECT_EQ(pack({there})->files[1].bytes, 1U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory / "7/files"), {}), 1);
}

}  // namespace
}  // namespace paceline
