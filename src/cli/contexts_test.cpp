#include "cli/client/contexts.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/fake_server.hpp"
#include "cli/words/directory_testing.hpp"
#include "trust/token.hpp"

namespace paceline {
namespace {

class ContextsTest : public ::testing::Test {
 protected:
  // Which server a command goes to.
  std::optional<RemoteServer> found(const std::optional<std::string>& server,
                                    Environment more = {}) {
    more.emplace("HOME", home_.path());
    const auto remote = find_remote(server, more);
    EXPECT_TRUE(remote) << remote.error().message;
    return remote.value_or(std::nullopt);
  }
  void keep(const Contexts& contexts) { ASSERT_TRUE(contexts.write(environment_)); }
  void write(std::string_view text) {
    keep({});
    std::ofstream(file()) << text;
  }
  [[nodiscard]] std::string file() const { return home_.path() + "/.config/paceline/contexts"; }

  TestDirectory home_;
  Environment environment_{{"HOME", home_.path()}};
  RemoteServer lab_{"gpu-box:7443", "plu_1"}, other_{"[fd00::7]:7443", "plu_2"};
};

TEST_F(ContextsTest, AreReadAsTheyWereWritten) {
  EXPECT_EQ(Contexts::read(environment_), Contexts{});
  const Contexts kept{"lab", {{"lab", lab_}, {"other", other_}}};
  keep(kept);
  EXPECT_EQ(Contexts::read(environment_), kept);
  EXPECT_EQ(Contexts::read({}), Contexts{}) << "no home";
  EXPECT_EQ(kept.write({}).error().code, ErrorCode::invalid);
}

TEST_F(ContextsTest, WhereCommandsGo) {
  EXPECT_EQ(found({}), std::nullopt);
  keep({"lab", {{"lab", lab_}, {"other", other_}}});
  EXPECT_EQ(found({}), lab_);
  EXPECT_EQ(found("other"), other_);
  EXPECT_EQ(found("https://gpu-box:7443"), lab_);
  EXPECT_EQ(found("https://[fd00::7]:7443/"), other_);
  for (const char* here : {"local", "/run/paceline", "./paceline.sock", "no-such-context"})
    EXPECT_EQ(found(here), std::nullopt) << here;
  EXPECT_EQ(found({}, {{"PACELINE_DIR", "/data"}}), std::nullopt);
  EXPECT_EQ(found("lab", {{"PACELINE_DIR", "/data"}}), lab_);
  EXPECT_EQ(find_remote("https://gpu-box:1", environment_).error().hint,
            "Log in first: 'paceline login gpu-box:1'.");
}

TEST_F(ContextsTest, WhatIsDamagedIsRefusedWithWhatToDo) {
  for (const char* text :
       {"", "{", "[]", R"({"current": "lab", "servers": {}})", R"({"current": "local"})",
        R"({"current": "local", "servers": []})", R"({"current": "local", "servers": {"a": 1}})",
        R"({"current": "local", "servers": {"a": {"address": "x"}}})"}) {
    write(text);
    const auto read = Contexts::read(environment_);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::data) << text;
    EXPECT_NE(read.error().hint, "");
  }
}

TEST_F(ContextsTest, OthersMayNotReadThem) {
  keep({"lab", {{"lab", lab_}}});
  ASSERT_EQ(::chmod(file().c_str(), 0644), 0);
  EXPECT_EQ(find_remote({}, environment_).error().code, ErrorCode::forbidden);
  EXPECT_EQ(found("/run/paceline"), std::nullopt) << "nothing is read where a place is named";
}

TEST_F(ContextsTest, LogInReplacesNoOtherServerUnasked) {
  const auto token = Token::make(TokenKind::user, sha256("an authority")).text();
  const Contexts before{"127.0.0.1", {{"127.0.0.1", {"127.0.0.1:1", token}}}};
  keep(before);
  const auto log_in = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"login", "--token-file", "-"});
    return run_words(words, environment_, token + "\n");
  };
  const auto refused = log_in({"127.0.0.1:2"});
  EXPECT_EQ(refused.code, 76);
  EXPECT_EQ(refused.err,
            "paceline: The context '127.0.0.1' is the server at 127.0.0.1:1.\n"
            "          Name another one with --name; '--name 127.0.0.1' replaces it.\n");
  constexpr int kNobodyAnswers = 69;
  EXPECT_EQ(log_in({"127.0.0.1:1"}).code, kNobodyAnswers);
  EXPECT_EQ(log_in({"127.0.0.1:2", "--name", "127.0.0.1"}).code, kNobodyAnswers);
  EXPECT_EQ(Contexts::read(environment_), before);
}

TEST_F(ContextsTest, NamesAndAddresses) {
  for (const char* good : {"lab", "gpu-box.example", "A_1"}) EXPECT_TRUE(check_context_name(good));
  for (const std::string& bad : {std::string(), std::string("local"), std::string("a b"),
                                 std::string("a/b"), std::string(65, 'x')})
    EXPECT_FALSE(check_context_name(bad)) << bad;
  const auto token = Token::make(TokenKind::user, sha256("an authority")).text();
  for (const char* good : {"gpu-box:7443", "10.0.0.7:1", "[fd00::7]:65535"})
    EXPECT_TRUE(address_of({good, token}, {})) << good;
  for (const char* bad : {"gpu-box", ":7443", "gpu-box:", "gpu-box:0", "gpu-box:70000", "a:b"})
    EXPECT_EQ(address_of({bad, token}, {}).error().code, ErrorCode::invalid) << bad;
  EXPECT_EQ(address_of({"gpu-box:1", "hunter2"}, {}).error().code, ErrorCode::data);
}

}  // namespace
}  // namespace paceline
