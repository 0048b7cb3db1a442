#include "notify/notify.hpp"

#include <gtest/gtest.h>

#include <string>

namespace paceline {
namespace {

TEST(Notify, KnowsMailAddressesAndWebHooks) {
  EXPECT_EQ(parse_address("ada@lab.example").value(), "mailto:ada@lab.example");
  EXPECT_EQ(parse_address("mailto:a.d+a_x=y-z@gpu1").value(), "mailto:a.d+a_x=y-z@gpu1");
  EXPECT_EQ(parse_address("https://hooks.lab.example/T0/B1?x=%20").value(),
            "https://hooks.lab.example/T0/B1?x=%20");
  EXPECT_EQ(parse_address("http://127.0.0.1:8080").value(), "http://127.0.0.1:8080");
}

TEST(Notify, RefusesWhatCouldBeginAHeaderOrAnotherAddress) {
  for (const std::string bad : {"",
                                "ada",
                                "@lab",
                                "ada@",
                                "-ada@lab",
                                "ada@-lab",
                                "ada@.lab",
                                "a@b@c",
                                "a b@lab",
                                "ada@lab.example\r\nBcc: eve@x",
                                "ada@lab\n",
                                "ada@lab,eve@x",
                                "ada@lab?bcc=eve@x",
                                "ada%0a@lab",
                                "\"ada\"@lab",
                                "<ada@lab>",
                                "ad\xC3\xA4@lab",
                                "https://",
                                "https:///x",
                                "https://h/\n",
                                "https://h/ x",
                                "https://h/\"x",
                                "https://h/\\x",
                                "ftp://h/x",
                                "file:///etc/passwd",
                                "gopher://h",
                                "javascript:x",
                                "https://h/\xC3\xA4"}) {
    const auto parsed = parse_address(bad);
    EXPECT_FALSE(parsed) << bad;
    if (!parsed) {
      EXPECT_FALSE(parsed.error().hint.empty());
    }
  }
  EXPECT_FALSE(parse_address(std::string("a@b\0c", 5)));
  EXPECT_FALSE(parse_address("https://h/" + std::string(kAddressBytesMax, 'x')));
}

TEST(Notify, IsBounded) {
  Notify notify{{"mailto:a@b"}};
  EXPECT_TRUE(validate(notify));
  EXPECT_FALSE(validate(Notify{{"a@b"}}));
  notify.stalled_after = Duration{};
  EXPECT_FALSE(validate(notify));
  EXPECT_FALSE(validate(Notify{std::vector<std::string>(kAddressesMax + 1, "mailto:a@b")}));
}

TEST(Notify, NamesEachKind) {
  for (const auto kind : kMessageKinds) EXPECT_EQ(parse_message_kind(to_string(kind)), kind);
  EXPECT_EQ(parse_message_kind("done\n").error().message, "There are no messages 'done '.");
}

}  // namespace
}  // namespace paceline
