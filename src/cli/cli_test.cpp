#include "cli/cli.hpp"

#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

#include "cli/client/locate.hpp"
#include "cli/commands.hpp"
#include "cli/fake_server.hpp"
#include "cli/run_cli.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandLine, WithoutACommandListsThem) {
  const auto result = run_words({});
  EXPECT_EQ(result.code, 0);
  for (const auto& command : commands()) {
    const std::string line = "\n  " + std::string(command.name) + " ";
    EXPECT_EQ(result.out.find(line) == std::string::npos, command.group.empty()) << line;
  }
}

TEST(CommandLine, EveryCommandExplainsItselfWithAnExample) {
  for (const auto& command : commands()) {
    std::vector<std::string> words = {"--help"};
    const std::string name(command.name);
    const auto space = name.find(' ');
    if (space != std::string::npos) words.insert(words.begin(), name.substr(space + 1));
    words.insert(words.begin(), name.substr(0, space));
    const auto result = run_words(words);
    EXPECT_EQ(result.code, 0) << name;
    EXPECT_THAT(result.out, HasSubstr("Usage: paceline " + name + " [options]"));
    EXPECT_THAT(result.out, HasSubstr("\nExample\n  ")) << name;
  }
}

TEST(CommandLine, NamesTheNearestCommand) {
  const auto result = run_words({"qeue"});
  EXPECT_EQ(result.code, 64);
  EXPECT_EQ(result.err,
            "paceline: There is no command 'qeue'; did you mean 'queue'?\n          See 'paceline "
            "--help'.\n");
  EXPECT_THAT(run_words({"policy", "sett"}).err, HasSubstr("did you mean 'policy set'?"));
  EXPECT_THAT(run_words({"policy"}).err,
              HasSubstr("list, show, set, load, forget, try, diff, promote, rollback or drop"));
}

TEST(CommandLine, NamesTheNearestOption) {
  const auto result = run_words({"submit", "--slotz", "2", "--", "true"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err,
              StartsWith("paceline: 'submit' has no option '--slotz'; did you mean '--slots'?"));
  EXPECT_THAT(run_words({"cancel", "-x", "7"}).err, HasSubstr("'cancel' has no option '-x'."));
}

TEST(CommandLine, RefusesWordsTooManyAndMissing) {
  EXPECT_THAT(run_words({"cancel"}).err, StartsWith("paceline: 'cancel' needs ID."));
  EXPECT_THAT(run_words({"queue", "7"}).err,
              StartsWith("paceline: 'queue' can't make sense of '7'."));
  EXPECT_THAT(run_words({"submit", "--slots"}).err,
              StartsWith("paceline: '--slots' needs a value."));
  EXPECT_THAT(run_words({"cancel", "seven"}).err,
              StartsWith("paceline: 'seven' is not the id of a job."));
  EXPECT_THAT(run_words({"--frobnicate", "queue"}).err,
              HasSubstr("does not stand before a command"));
}

TEST(CommandLine, PrintsTheVersion) {
  EXPECT_EQ(run_words({"version"}).out, "paceline 1.2.3\n");
  EXPECT_EQ(run_words({"--version"}).out, "paceline 1.2.3\n");
}

TEST(CommandLine, FindsTheServerByOptionBeforeAndBehindTheCommand) {
  const FakeServer server(
      [](const FakeRequest&) { return FakeAnswer{R"({"jobs":[],"next":null})"}; });
  const auto socket = server.directory() + "/paceline.sock";
  EXPECT_EQ(run_words({"--server", server.directory(), "queue"}).code, 0);
  EXPECT_EQ(run_words({"queue", "--server=" + socket}).code, 0);
  EXPECT_EQ(run_words({"--server=" + socket, "queue"}, {{"PACELINE_DIR", "/nowhere"}}).code, 0);
  EXPECT_EQ(server.requests().size(), 6U) << "jobs, and when they are expected";
}

class Up : public ::testing::Test {
 protected:
  int up(std::vector<std::string> words, const Environment& environment = {}) {
    Console console({.output_fd = -1, .error_fd = -1});
    Hooks hooks;
    hooks.up = [this](const UpOptions& options) {
      asked = options;
      return 5;
    };
    Context context(console, environment, hooks);
    words.insert(words.begin(), "up");
    return run_cli(context, std::move(words));
  }
  std::optional<UpOptions> asked;
};

TEST_F(Up, HandsItsOptionsOn) {
  EXPECT_EQ(up({"--dir", "/srv/p/", "--slots", "4", "--policy", "fifo", "--log-level", "debug"}),
            5);
  EXPECT_EQ(asked->directory, "/srv/p");
  EXPECT_EQ(asked->socket_directory, "/srv/p");
  EXPECT_EQ(asked->slots, 4);
  EXPECT_EQ(asked->policy, "fifo");
  EXPECT_EQ(asked->log_level, "debug");
}

TEST_F(Up, DescribesItsMachine) {
  EXPECT_EQ(up({"--dir", "/p", "--rack", "r1", "--switch", "s1", "--label", "disk=nvme", "--label",
                "team=vision"}),
            5);
  EXPECT_EQ(asked->rack, "r1");
  EXPECT_EQ(asked->network_switch, "s1");
  EXPECT_EQ(asked->labels,
            (std::map<std::string, std::string>{{"disk", "nvme"}, {"team", "vision"}}));
  EXPECT_FALSE(asked->advertise);
  EXPECT_EQ(up({"--dir", "/p", "--advertise", "10.0.0.7"}), 5);
  EXPECT_EQ(asked->advertise, "10.0.0.7");
}

TEST_F(Up, SetsLimits) {
  EXPECT_EQ(up({"--dir", "/p"}), 5);
  EXPECT_EQ(asked->limits, Limits{});
  EXPECT_EQ(up({"--dir", "/p", "--limit", "connections=500", "--limit", "connections-per-user=9"}),
            5);
  EXPECT_EQ(asked->limits.connections, 500U);
  EXPECT_EQ(asked->limits.connections_per_user, 9U);
  EXPECT_EQ(up({"--dir", "/p", "--limit", "progress-interval=0"}), 5) << "not at all";
  EXPECT_EQ(asked->limits.progress_interval, 0U);
}

TEST_F(Up, SaysHowLongWhoNeverSavedIsAsked) {
  EXPECT_EQ(up({"--dir", "/p"}), 5);
  EXPECT_EQ(asked->reclaim_after, std::nullopt);
  EXPECT_EQ(up({"--dir", "/p", "--reclaim-after", "5m"}), 5);
  EXPECT_EQ(asked->reclaim_after, std::chrono::minutes{5});
  EXPECT_EQ(up({"--dir", "/p", "--reclaim-after", "0s"}), 5);
  EXPECT_EQ(asked->reclaim_after, Duration::zero());
  EXPECT_EQ(up({"--dir", "/p", "--reclaim-after", "5"}), 64);
  EXPECT_EQ(up({"--dir", "/p", "--reclaim-after", "400d"}), 64);
}

TEST_F(Up, RefusesLimitsThatMakeNoSense) {
  EXPECT_EQ(up({"--dir", "/a", "--limit", "connections"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--limit", "conections=500"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--limit", "connections=many"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--limit", "connections=1"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--limit", "connections=-1"}), 64);
  EXPECT_FALSE(asked);
}

TEST_F(Up, FindsItsDirectory) {
  EXPECT_EQ(up({}, {{"PACELINE_DIR", "/a"}, {"HOME", "/h"}}), 5);
  EXPECT_EQ(asked->directory, "/a");
  EXPECT_EQ(up({}, {{"HOME", "/h"}}), 5);
  EXPECT_EQ(asked->directory, *default_directory({{"HOME", "/h"}}));
}

TEST_F(Up, ServesTheMachineWhereEverybodyLooks) {
  EXPECT_EQ(up({"--dir", "/var/lib/paceline/", "--detach"}, {{"HOME", "/h"}}), 5);
  EXPECT_EQ(asked->directory, "/var/lib/paceline");
  EXPECT_EQ(asked->socket_directory, "/run/paceline");
  EXPECT_EQ(asked->former_directory, "/h/.local/share/paceline");
  EXPECT_TRUE(asked->detach);
  const passwd* account = ::getpwuid(::geteuid());
  ASSERT_NE(account, nullptr);
  EXPECT_EQ(up({"--dir", "/var/lib/paceline"}, {}), 5) << "as systemd starts it";
  EXPECT_EQ(asked->former_directory, account->pw_dir + std::string("/.local/share/paceline"));
  EXPECT_EQ(up({"--dir", "/a", "--move-from", "/b/"}), 5);
  EXPECT_EQ(asked->move_from, "/b");
  EXPECT_EQ(asked->former_directory, "");
}

TEST_F(Up, RefusesWhatMakesNoSense) {
  EXPECT_EQ(up({"--dir", ""}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--move-from", ""}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--slots", "0"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--slots", "many"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--log-level", "loud"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--label", "nvme"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--label", "disk=nvme", "--label", "disk=ssd"}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--rack", std::string(64, 'r')}), 64);
  EXPECT_EQ(up({"--dir", "/a", "--advertise", "10.0.0.7 "}), 64);
  EXPECT_EQ(up({"--server", "/a"}, {{"HOME", "/h"}}), 64);
  EXPECT_FALSE(asked);
}

// Where `backup` looks, which has its directory as the commands of `journal` do.
class JournalDirectory : public ::testing::Test {
 protected:
  std::optional<std::string> read(std::vector<std::string> words, const Environment& environment) {
    Console console({.output_fd = -1, .error_fd = -1});
    Hooks hooks;
    std::optional<std::string> directory;
    hooks.backup = [&](const BackupOptions& options) {
      directory = options.directory;
      return BackupDone{};
    };
    Context context(console, environment, hooks);
    words.insert(words.begin(), {"backup", "b.tar"});
    code = run_cli(context, std::move(words));
    return directory;
  }
  int code = 0;
};

TEST_F(JournalDirectory, IsNeverAnothersThanTheOneThatWasNamed) {
  const Environment environment = {{"HOME", "/h"}, {"PACELINE_DIR", "/a"}};
  EXPECT_EQ(read({}, environment), "/a") << "its server is down";
  EXPECT_EQ(read({"--dir", "/b/"}, environment), "/b/");
  for (const char* named : {"/nowhere", "local-or-not", "https://gpu-box:7443"}) {
    EXPECT_EQ(read({"--server", named}, environment), std::nullopt) << named;
    EXPECT_NE(code, 0) << named;
  }
  const FakeServer server([](const FakeRequest&) { return FakeAnswer{R"({"dir":"/c"})"}; });
  EXPECT_EQ(read({"--server", server.directory()}, environment), "/c");
}

}  // namespace
}  // namespace paceline
