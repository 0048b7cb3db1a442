#include "api/foreign_looks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/job_spec.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;

class ForeignLooksTest : public ::testing::Test {
 protected:
  static Principal person(std::string user, std::uint32_t uid) {
    return {.user = std::move(user), .uid = uid, .roles = {Role::admin}};
  }
  void note(const Principal& by, std::uint32_t job, Action action) {
    JobSpec spec;
    spec.user = "ann";
    spec.uid = 1001;
    Job of_ann;
    of_ann.id = JobId{job};
    of_ann.spec = std::make_shared<const JobSpec>(std::move(spec));
    looks_.note(by, of_ann, action, now_);
  }

  std::vector<std::string> lines_;
  ForeignLooks looks_{[this](const std::string& line) { lines_.push_back(line); }};
  Time now_{std::chrono::hours{1}};
  Principal root_ = person("root", 0);
};

TEST_F(ForeignLooksTest, AreToldByName) {
  note(root_, 7, Action::read_private);
  note(root_, 8, Action::attach);
  note(person("", 1002), 7, Action::read_private);
  note(person("eve\n2026-01-01 root", 1003), 7, Action::read_private);
  EXPECT_THAT(lines_, ElementsAre("root looks into job 7 of ann.", "root attaches to job 8 of ann.",
                                  "Account 1002 looks into job 7 of ann.",
                                  "eve 2026-01-01 root looks into job 7 of ann."));
}

TEST_F(ForeignLooksTest, AreThoseOfOthersAndNoChanges) {
  note(person("ann", 1001), 7, Action::read_private);
  note(root_, 7, Action::cancel);
  EXPECT_THAT(lines_, ElementsAre());
}

TEST_F(ForeignLooksTest, AreToldOnceInTenMinutes) {
  for (int i = 0; i < 1000; ++i) note(root_, 7, Action::read_private);
  EXPECT_EQ(lines_.size(), 1U);
  now_ += std::chrono::minutes{5};
  note(root_, 7, Action::attach);
  note(root_, 8, Action::read_private);
  EXPECT_EQ(lines_.size(), 3U);
  now_ += std::chrono::minutes{6};
  for (int i = 0; i < 2; ++i)
    for (const std::uint32_t job : {7U, 8U}) note(root_, job, Action::read_private);
  EXPECT_EQ(lines_.size(), 4U);
  EXPECT_EQ(lines_.back(), lines_.front());
}

}  // namespace
}  // namespace paceline
