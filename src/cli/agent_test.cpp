// What `paceline agent` makes of its words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "cli/client/locate.hpp"
#include "cli/run_cli.hpp"
#include "files/fd.hpp"
#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class AgentCommand : public ::testing::Test {
 protected:
  int agent(std::vector<std::string> words, const std::string& input = {},
            const Environment& environment = {{"HOME", "/home/ann"}}) {
    std::array<int, 2> in{}, err{};
    EXPECT_EQ(::pipe(in.data()), 0);
    EXPECT_EQ(::pipe(err.data()), 0);
    const UniqueFd reads(in[0]), errors(err[0]);
    UniqueFd writes(in[1]), says(err[1]);
    EXPECT_EQ(::write(writes.get(), input.data(), input.size()),
              static_cast<ssize_t>(input.size()));
    writes.reset();
    Console console({.input_fd = in[0], .output_fd = -1, .error_fd = err[1]});
    Hooks hooks;
    hooks.agent = [this](const AgentOptions& options) {
      asked = options;
      return 5;
    };
    Context context(console, environment, hooks);
    words.insert(words.begin(), "agent");
    const int code = run_cli(context, std::move(words));
    says.reset();
    said.clear();
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = ::read(errors.get(), piece.data(), piece.size())) > 0;)
      said.append(piece.data(), static_cast<std::size_t>(n));
    return code;
  }

  TempFolder folder_;
  Token token_ = Token::make(TokenKind::join, Sha256{});
  std::optional<AgentOptions> asked;
  std::string said;
};

TEST_F(AgentCommand, NeedsNoWordsOnceItHasJoined) {
  EXPECT_EQ(agent({}, {}, {{"XDG_DATA_HOME", "/data"}}), 5);
  EXPECT_FALSE(asked->join.has_value());
  EXPECT_FALSE(asked->token.has_value());
  EXPECT_EQ(agent_directory({{"XDG_DATA_HOME", "/data"}}, 1000).value(), "/data/paceline-agent");
  EXPECT_EQ(agent_directory({{"HOME", "/home/ann"}}, 1000).value(),
            "/home/ann/.local/share/paceline-agent");
  EXPECT_EQ(agent_directory({}, 0).value(), "/var/lib/paceline-agent");
  EXPECT_THAT(agent_directory({}, 1000).error().hint, "Name one with --dir.");
}

TEST_F(AgentCommand, ReadsATokenFromStandardInput) {
  EXPECT_EQ(agent({"--join", "gpu-box:7443", "--token", "-", "--dir", "/srv/a/"},
                  token_.text() + "\nmore"),
            5);
  EXPECT_EQ(asked->join, (TcpAddress{"gpu-box", 7443}));
  EXPECT_EQ(asked->token->text(), token_.text());
  EXPECT_EQ(asked->directory, "/srv/a");
}

TEST_F(AgentCommand, ReadsATokenFromAFile) {
  const auto file = folder_.path() / "token";
  std::ofstream(file) << token_.text() << "\n";
  EXPECT_EQ(agent({"--join", "[::1]:7443", "--token-file", file.string()}), 5);
  EXPECT_EQ(asked->join, (TcpAddress{"::1", 7443}));
  EXPECT_EQ(asked->token->text(), token_.text());
}

TEST_F(AgentCommand, TakesNoTokenAsAnArgumentAndRepeatsNone) {
  EXPECT_EQ(agent({"--join", "gpu-box:7443", "--token", token_.text()}), 64);
  EXPECT_THAT(said, HasSubstr("A token is never an argument"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr(token_.text().substr(4, 12))));
  EXPECT_FALSE(asked.has_value());
}

TEST_F(AgentCommand, DescribesItsMachine) {
  EXPECT_EQ(agent({"--slots", "2", "--node", "gpu-3", "--rack", "r1", "--switch", "s1", "--label",
                   "disk=nvme", "--advertise", "10.0.0.7", "--limit", "logs-per-job=2M", "--memory",
                   "200G", "--log-level", "debug", "--detach"}),
            5);
  EXPECT_EQ(asked->slots, 2);
  EXPECT_EQ(asked->memory_bytes, 200ULL << 30);
  EXPECT_EQ(asked->node, "gpu-3");
  EXPECT_EQ(asked->rack, "r1");
  EXPECT_EQ(asked->network_switch, "s1");
  EXPECT_EQ(asked->labels, (std::map<std::string, std::string>{{"disk", "nvme"}}));
  EXPECT_EQ(asked->advertise, "10.0.0.7");
  EXPECT_EQ(asked->limits.logs_per_job, 2U << 20);
  EXPECT_EQ(asked->log_level, "debug");
  EXPECT_TRUE(asked->detach);
}

TEST_F(AgentCommand, RefusesWhatMakesNoSense) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--join", "gpu-box"},
           {"--join", "gpu-box:0"},
           {"--join", ":7443"},
           {"--token", "-"},
           {"--token-file", "/dev/null"},
           {"--join", "gpu-box:7443", "--token", "-", "--token-file", "/dev/null"},
           {"--join", "gpu-box:7443", "--token", "-"},
           {"--node", "gpu 3"},
           {"--node", ""},
           {"--slots", "0"},
           {"--memory", "much"},
           {"--limit", "connections=500"},
           {"--log-level", "loud"},
           {"--server", "/srv/p"},
           {"gpu-box:7443"}})
    EXPECT_EQ(agent(words), 64) << ::testing::PrintToString(words);
  EXPECT_FALSE(asked.has_value());
}

TEST_F(AgentCommand, ATokenOfAnotherKindJoinsNobody) {
  const auto user = Token::make(TokenKind::user, Sha256{});
  EXPECT_EQ(agent({"--join", "gpu-box:7443", "--token", "-"}, user.text() + "\n"), 64);
  EXPECT_THAT(said, HasSubstr("'paceline node invite'"));
}

}  // namespace
}  // namespace paceline
