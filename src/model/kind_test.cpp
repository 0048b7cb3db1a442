#include "model/kind.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Kind, IsTheNameOfOneOwnersJobs) {
  JobSpec spec;
  spec.uid = 1000;
  spec.name = "train";
  EXPECT_EQ(kind_of(spec), "1000/train");
}

}  // namespace
}  // namespace paceline
