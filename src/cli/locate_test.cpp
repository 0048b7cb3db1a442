#include "cli/client/locate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"
#include "http/client.hpp"
#include "http/unix_dialer.hpp"

namespace paceline {
namespace {

using ::testing::StartsWith;

FakeAnswer fine(const FakeRequest&) { return {"{}"}; }

TEST(FindServer, PrefersWhatIsNamed) {
  const FakeServer server(fine);
  const auto socket = server.directory() + "/paceline.sock";
  EXPECT_EQ(find_server(server.directory() + "/", {}), socket);
  EXPECT_EQ(find_server(socket, {{"PACELINE_DIR", "/nowhere"}}), socket);
  EXPECT_EQ(find_server({}, {{"PACELINE_DIR", server.directory()}}), socket);
  EXPECT_EQ(find_server("/nowhere", {{"PACELINE_DIR", server.directory()}}).error().code,
            ErrorCode::unavailable);
}

TEST(DefaultDirectory, IsTheMachinesForRootAndTheDataFolderForOthers) {
  constexpr uid_t kUser = 1000;
  EXPECT_EQ(default_directory({{"PACELINE_DIR", "/a"}, {"HOME", "/h"}}, 0), "/a");
  EXPECT_EQ(default_directory({{"HOME", "/h"}}, 0), "/var/lib/paceline");
  EXPECT_EQ(default_directory({{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}}, kUser), "/x/paceline");
  EXPECT_EQ(default_directory({{"HOME", "/h"}}, kUser), "/h/.local/share/paceline");
  EXPECT_EQ(default_directory({}, kUser).error().code, ErrorCode::invalid);
}

TEST(FindServer, LooksIntoTheDataFolder) {
  const TestDirectory home;
  const FakeServer server(fine);
  std::filesystem::create_directories(home.path() + "/.local/share");
  std::filesystem::create_symlink(server.directory(), home.path() + "/.local/share/paceline");
  for (const char* installed : {"/run/paceline/paceline.sock", "/var/lib/paceline"})
    if (std::filesystem::exists(installed)) GTEST_SKIP() << "a server is installed here";
  EXPECT_EQ(find_server({}, {{"HOME", home.path()}}),
            home.path() + "/.local/share/paceline/paceline.sock");
  EXPECT_EQ(find_server({}, {{"XDG_DATA_HOME", home.path() + "/.local/share"}, {"HOME", "/x"}}),
            home.path() + "/.local/share/paceline/paceline.sock");
  EXPECT_EQ(find_server({}, {{"HOME", "/nowhere"}}).error().hint, "Start one with 'paceline up'.");
}

// What is advised about a server that nobody named, or that is named by a path.
class Advice : public ::testing::Test {
 protected:
  using Names = std::vector<std::optional<std::string>>;

  std::string about(const std::optional<std::string>& named) {
    const auto found = find_server(named, {{"HOME", "/nowhere"}}, machine);
    return found ? "it answers" : found.error().hint;
  }

  TestDirectory top;
  MachinePlaces machine{top.path() + "/run", top.path() + "/state"};
};

TEST_F(Advice, IsToStartOneWhereTheMachineHasNone) {
  for (const auto& named : Names{std::nullopt, machine.sockets, "/nowhere"})
    EXPECT_EQ(about(named), "Start one with 'paceline up'.");
}

TEST_F(Advice, IsNeverASecondServerOfTheMachine) {
  std::filesystem::create_directory(machine.state);
  for (const auto& named : Names{std::nullopt, machine.sockets, machine.sockets + "/",
                                 machine.sockets + "/paceline.sock", machine.state})
    EXPECT_THAT(about(named),
                StartsWith("This machine's server does not run: root starts it with"));
  EXPECT_EQ(about(machine.state + "-of-mine"),
            "This machine has a server for everybody: leave out --server and PACELINE_DIR.");
}

// As another user where this is root, whom no permissions bind.
class Bound {
 public:
  Bound() { become(kNobody); }
  ~Bound() { become(0); }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  void become(uid_t user) const {
    if (!root_) return;
    EXPECT_EQ(::seteuid(user), 0);
  }
  bool root_ = ::getuid() == 0;
};

TEST_F(Advice, IsNotToStartOneBesideAForeignServer) {
  const auto foreign = top.path() + "/foreign";
  std::filesystem::create_directory(machine.state);
  for (const auto& folder : {foreign, machine.sockets}) {
    std::filesystem::create_directory(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_read);
  }
  std::filesystem::permissions(top.path(), std::filesystem::perms::all);
  const Bound bound;
  EXPECT_EQ(about(foreign + "/paceline.sock"),
            "Ask its administrator, or leave out --server and PACELINE_DIR.");
  for (const auto& named : Names{std::nullopt, machine.sockets + "/paceline.sock"})
    EXPECT_EQ(about(named), "Ask its administrator.");
}

TEST(UnixDialer, ReachesAPathOfAnyLength) {
  const TestDirectory top;
  const FakeServer server(fine);
  const auto folder = top.path() + "/" + std::string(120, 'd');
  std::filesystem::create_symlink(server.directory(), folder);
  HttpClient http({std::make_shared<UnixDialer>(folder + "/paceline.sock")});
  const auto answer = http.send({.target = "/v1/server"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
}

TEST(UnixDialer, TellsAForeignServerFromNone) {
  const TestDirectory directory;
  EXPECT_EQ(UnixDialer(directory.path() + "/none.sock").dial().error().code,
            ErrorCode::unavailable);
  EXPECT_EQ(UnixDialer(directory.write("file", "x")).dial().error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace paceline
