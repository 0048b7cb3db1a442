#include "model/label.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Label = std::pair<std::string, std::string>;

TEST(Label, IsKeyAndValue) {
  EXPECT_EQ(*parse_label("disk=nvme"), (Label{"disk", "nvme"}));
  EXPECT_EQ(*parse_label("example.org/zone_1=a=b c"), (Label{"example.org/zone_1", "a=b c"}));
}

TEST(Label, IsRefusedWithItsForm) {
  EXPECT_EQ(parse_label("nvme").error().message, "'nvme' is no label.");
  EXPECT_EQ(parse_label("nvme").error().hint, "Write KEY=VALUE, for example disk=nvme.");
  EXPECT_EQ(parse_label("di sk=nvme").error().message,
            "A label's key has 1 to 63 letters, digits or ._-/, unlike 'di sk'.");
  EXPECT_EQ(parse_label("disk=").error().message,
            "The value of the label 'disk' must have 1 to 256 printable bytes without '~'.");
  for (const auto& bad :
       {std::string("=nvme"), std::string("a:b=c"), std::string("disk=a~b"),
        std::string("disk=a\nb"), std::string(64, 'k') + "=v", "k=" + std::string(257, 'v')}) {
    EXPECT_FALSE(parse_label(bad)) << bad;
  }
}

TEST(Label, OfANodeAreBounded) {
  Labels labels;
  for (int i = 0; i < 64; ++i) labels["k" + std::to_string(i)] = "v";
  EXPECT_TRUE(validate_labels(labels));
  labels["one"] = "more";
  EXPECT_EQ(validate_labels(labels).error().message, "A node has at most 64 labels, not 65.");
  EXPECT_FALSE(validate_labels({{"", "v"}}));
}

TEST(Address, IsANumberOrAName) {
  for (const char* good : {"10.0.0.7", "fd00::7", "fe80::1%eth0", "gpu-box", "gpu_3.lab.example"})
    EXPECT_TRUE(validate_address(good)) << good;
  EXPECT_TRUE(validate_address(std::string(kAddressMax, 'a')));
}

TEST(Address, IsRefusedWithItsForm) {
  EXPECT_EQ(validate_address("a b").error().message,
            "'a b' is no address: it has 1 to 253 letters, digits or .-_:%.");
  for (const auto& bad : {std::string(), std::string("tcp://box"), std::string("a\nb"),
                          std::string("-x"), std::string("$(id)"), std::string(254, 'a')})
    EXPECT_FALSE(validate_address(bad)) << bad;
}

TEST(Label, IsWhatATermAsksFor) {
  const Labels labels = {{"disk", "nvme"}};
  const auto asks = [&](std::string_view term) {
    return has_label(labels, *parse_affinity(term, false));
  };
  EXPECT_TRUE(asks("label:disk"));
  EXPECT_TRUE(asks("label:disk=nvme"));
  EXPECT_FALSE(asks("label:disk=ssd"));
  EXPECT_FALSE(asks("label:team"));
}

TEST(PlaceName, IsShortAndPrintable) {
  EXPECT_TRUE(validate_place("rack", ""));
  EXPECT_TRUE(validate_place("rack", "row 3, rack 7"));
  EXPECT_EQ(validate_place("switch", std::string(64, 's')).error().message,
            "The name of a switch must have at most 63 printable bytes.");
  EXPECT_FALSE(validate_place("rack", "a\tb"));
}

}  // namespace
}  // namespace paceline
