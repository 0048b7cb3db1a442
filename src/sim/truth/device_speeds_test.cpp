#include "sim/truth/device_speeds.hpp"

#include <gmock/gmock.h>

#include "sim/cluster.hpp"

namespace paceline::sim {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kModels = {"NVIDIA A100-SXM4-40GB", "Tesla V100"};

constexpr std::string_view kThroughputs = R"file({
  "v100": {"('LM (batch size 5)', 1)": {"null": 10, "('A3C', 1)": [1, 2]},
           "('LM (batch size 5)', 4)": {"null": 36}, "('A3C', 1)": {"null": 4}},
  "a100": {"('LM (batch size 5)', 1)": {"null": 20}, "('LM (batch size 5)', 4)": {"null": 90}}})file";

double speed(const DeviceSpeeds& speeds, const std::string& application, std::int32_t slots,
             const std::string& model) {
  return speeds.of(application, slots)->find(model)->second;
}

TEST(DeviceSpeeds, InWordsAreOfAllJobs) {
  const auto speeds = DeviceSpeeds::of_words("a100=1,V100=0.45", kModels);
  ASSERT_TRUE(speeds);
  EXPECT_EQ(speed(*speeds, "anything", 8, "Tesla V100"), 0.45);
  EXPECT_EQ(speed(*speeds, "", 1, kModels[0]), 1);
}

TEST(DeviceSpeeds, NameEveryDeviceOfTheCluster) {
  for (const char* wrong : {"A100=1", "A100=1,V100", "A100=1,V100=0", "A100=1,V100=-1", "=1,V100=1",
                            "A100=1,V100=nan", "A100=1,,V100=1", "A100=1,V100=1e9", ""})
    EXPECT_FALSE(DeviceSpeeds::of_words(wrong, kModels)) << wrong;
  EXPECT_THAT(DeviceSpeeds::of_words("A100=1", kModels).error().message, HasSubstr("Tesla V100"));
}

TEST(DeviceSpeeds, MeasuredAreOfTheApplicationAndTheNearestSize) {
  const auto speeds = DeviceSpeeds::of_throughputs(kThroughputs, "v100", kModels);
  ASSERT_TRUE(speeds) << speeds.error().message;
  EXPECT_EQ(speed(*speeds, "LM (batch size 5)", 1, kModels[0]), 2);
  EXPECT_EQ(speed(*speeds, "LM (batch size 5)", 8, kModels[0]), 2.5) << "as with four";
  EXPECT_EQ(speed(*speeds, "LM (batch size 5)", 8, kModels[1]), 1);
  EXPECT_EQ(speeds->of("A3C", 1), nullptr) << "measured on one of both alone";
  EXPECT_EQ(speeds->of("nothing", 1), nullptr);
  const auto fastest = DeviceSpeeds::of_throughputs(kThroughputs, "", kModels);
  EXPECT_EQ(speed(*fastest, "LM (batch size 5)", 1, kModels[1]), 0.5);
}

TEST(DeviceSpeeds, FilesThatAreNoThroughputsAreRefused) {
  for (const char* wrong :
       {"", "[]", "{}", R"f({"v100": 1})f", R"f({"v100": {"LM": {"null": 1}}})f",
        R"f({"v100": {"('LM', 0)": {"null": 1}}})f", R"f({"v100": {"('LM', 1)": {}}})f",
        R"f({"v100": {"('LM', 1)": 3}})f", R"f({"v100": {"(', 1)": {"null": 1}}})f"})
    EXPECT_FALSE(DeviceSpeeds::of_throughputs(wrong, "", {"Tesla V100"})) << wrong;
  EXPECT_FALSE(DeviceSpeeds::of_throughputs(kThroughputs, "T4", kModels));
  EXPECT_FALSE(DeviceSpeeds::of_throughputs(kThroughputs, "", {"T4"}));
}

Profile measured(const std::map<std::int32_t, StepTimes>& by_replicas, std::int32_t nodes = 1) {
  return {"toy", {}, {{nodes, by_replicas}}, {}, {}};
}

TEST(DeviceSpeeds, OfProfilesAreHeldAgainstEachOtherAtTheSameBatches) {
  const std::map<std::string, Profiles> profiles = {
      {"fast", {{"toy", measured({{1, {{8, {1, 0}}, {16, {1, 0}}, {32, {9, 0}}}}})}}},
      {"slow", {{"toy", measured({{1, {{8, {2, 0}}, {16, {8, 0}}}}, {2, {{8, {1, 0}}}}})}}},
      {"slow-new", {{"toy", measured({{1, {{8, {1, 0}}}}})}}}};
  const auto speeds = DeviceSpeeds::of_profiles(profiles, "fast", {"slow", "fast"});
  ASSERT_TRUE(speeds) << speeds.error().message;
  EXPECT_DOUBLE_EQ(speed(*speeds, "toy", 1, "slow"), 0.25) << "2 s and 8 s where it takes 1 s";
  EXPECT_DOUBLE_EQ(speed(*speeds, "toy", 4, "slow"), 0.25) << "2 were measured on one of both";
  EXPECT_DOUBLE_EQ(speed(*speeds, "toy", 1, "fast"), 1);
  EXPECT_EQ(speeds->of("other", 1), nullptr);
  const auto fresh = DeviceSpeeds::of_profiles(profiles, "fast", {"slow-new"});
  EXPECT_DOUBLE_EQ(speed(*fresh, "toy", 1, "slow-new"), 1) << "by its whole name";
  EXPECT_FALSE(DeviceSpeeds::of_profiles(profiles, "fast", {"other"}));
  EXPECT_FALSE(DeviceSpeeds::of_profiles(profiles, "other", {"fast"}));
}

TEST(DeviceSpeeds, OfProfilesTakeTheFewestNodesOfASize) {
  Profile spread = measured({{4, {{8, {1, 0}}}}});
  spread.scales[2][4] = {{8, {3, 0}}};
  const std::map<std::string, Profiles> profiles = {
      {"a", {{"toy", spread}}}, {"b", {{"toy", measured({{4, {{8, {2, 0}}}}}, 4)}}}};
  const auto speeds = DeviceSpeeds::of_profiles(profiles, "a", {"a", "b"});
  EXPECT_DOUBLE_EQ(speed(*speeds, "toy", 4, "b"), 0.5);
}

}  // namespace
}  // namespace paceline::sim
