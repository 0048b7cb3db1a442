#include "messages/text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::ending;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;

class MessageTextTest : public ::testing::Test {
 protected:
  // Of a job with that name that failed.
  Telling telling(std::string name, std::string reason = "exit code 1") {
    job.id = JobId{12};
    JobSpec spec;
    spec.name = std::move(name);
    spec.user = "ada";
    job.spec = std::make_shared<const JobSpec>(std::move(spec));
    job.state = JobState::failed;
    return {
        job, news, std::move(reason), "gpu1", "f00-12-failed", wall_from_us(1'700'000'000'000'000)};
  }
  // Its headers, folded lines joined.
  static std::vector<std::string> headers(const std::string& mail) {
    std::vector<std::string> found;
    std::istringstream lines(mail.substr(0, mail.find("\r\n\r\n") + 2));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.ends_with('\r')) << line;
      line.pop_back();
      if (line.starts_with(' ') && !found.empty())
        found.back() += line;
      else
        found.push_back(line);
    }
    return found;
  }

  Job job;
  News news{MessageKind::failed, Time{}, 0, MessageKind::ended};
};

TEST_F(MessageTextTest, SaysInOneLineWhatHappened) {
  EXPECT_EQ(headline(telling("resnet")), "job 12 (resnet) failed: exit code 1");
}

TEST_F(MessageTextTest, AMailIsWhole) {
  const auto mail = mail_text(telling("resnet"), {"paceline@lab.example"}, "ada@lab.example");
  const auto lines = headers(mail);
  EXPECT_THAT(
      lines,
      ::testing::IsSupersetOf(
          {"Date: Tue, 14 Nov 2023 22:13:20 +0000", "To: <ada@lab.example>",
           "From: Paceline <paceline@lab.example>", "Subject: job 12 (resnet) failed: exit code 1",
           "Message-ID: <f00-12-failed@lab.example>", "Auto-Submitted: auto-generated"}));
}

// Names are visible where jobs come from; nothing depends on it here.
TEST_F(MessageTextTest, NothingInANameOrAReasonBeginsAHeaderOrALine) {
  for (const std::string& bad :
       {std::string("x\r\nBcc: eve@x"), std::string("x\nBcc: eve@x"), std::string("x\r\n\r\nbody"),
        std::string("x\0y", 3), std::string("\xff\xfe"), std::string("=?utf-8?B?QmNj?="),
        std::string("\xE2\x80\xA8"
                    "Bcc: eve@x"),
        std::string(5000, 'x')}) {
    const auto said = telling(bad, "why\r\nBcc: eve@x\n.\n");
    const auto mail = mail_text(said, {"p@lab"}, "ada@lab");
    EXPECT_EQ(headers(mail).size(), headers(mail_text(telling("x"), {"p@lab"}, "ada@lab")).size());
    EXPECT_THAT(mail, Not(HasSubstr("\nBcc")));
    EXPECT_THAT(mail, Not(HasSubstr("\r\n.")));
    for (const char c : mail) EXPECT_TRUE((c >= 0x20 && c < 0x7F) || c == '\r' || c == '\n');
    std::istringstream lines(mail);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 998U);
    const auto body = hook_body(said);
    EXPECT_EQ(body.find('\n'), std::string::npos);
    EXPECT_TRUE(nlohmann::json::accept(body)) << body;
  }
}

TEST_F(MessageTextTest, EncodesWordsOfOtherAlphabetsWhole) {
  const auto text = header_text("größe 模型 " + std::string(100, 'a'));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 78U) << line;
  EXPECT_TRUE(text.starts_with("=?utf-8?B?Z3LDtsOf"));
  EXPECT_EQ(header_text("plain"), "plain");
}

TEST_F(MessageTextTest, AWebHookGetsWhatItNeeds) {
  const auto body = nlohmann::json::parse(hook_body(telling("resnet")));
  EXPECT_EQ(body["version"], 1);
  EXPECT_EQ(body["id"], "f00-12-failed");
  EXPECT_EQ(body["kind"], "failed");
  EXPECT_EQ(body["text"], "job 12 (resnet) failed: exit code 1");
  EXPECT_EQ(body["server"], "gpu1");
  EXPECT_EQ(body["at"], 1'700'000'000.0);
  EXPECT_EQ(body["job"]["id"], 12);
  EXPECT_EQ(body["job"]["state"], "FAILED");
  EXPECT_TRUE(body["job"]["value"].is_null());
}

}  // namespace
}  // namespace paceline
