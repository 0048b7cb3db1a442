#include "model/device_model.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(DeviceModel, AnswersToTheWordsOfItsName) {
  EXPECT_TRUE(is_model("h100", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(is_model("A100-80GB", "NVIDIA A100-SXM4-80GB"));
  EXPECT_TRUE(is_model("rtx 4090", "NVIDIA GeForce RTX 4090"));
  EXPECT_TRUE(is_model("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(is_model("cpu", "cpu"));
}

TEST(DeviceModel, AnswersToNothingElse) {
  EXPECT_FALSE(is_model("h10", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(is_model("h1000", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(is_model("80gb h100", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(is_model("h100 nvl", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(is_model("-", "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(is_model("", ""));
  EXPECT_FALSE(is_model("h100", ""));
}

TEST(DeviceModel, SuitsAJobThatNamesItOrNone) {
  JobSpec spec;
  EXPECT_TRUE(takes_device(spec, "cpu"));
  spec.devices = {"h100", "a100"};
  EXPECT_TRUE(takes_device(spec, "NVIDIA A100-SXM4-80GB"));
  EXPECT_FALSE(takes_device(spec, "Tesla V100-SXM2-16GB"));
}

}  // namespace
}  // namespace paceline
