#include "model/accrual.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

Job job_in(JobState state) {
  Job job;
  job.state = state;
  job.leased = 2;
  return job;
}

TEST(Accrual, GoesWhereTheStateSays) {
  const Time at = Time{} + std::chrono::seconds{10};
  EXPECT_EQ(accrued(job_in(JobState::pending), at).spent, &Job::waited);
  EXPECT_EQ(accrued(job_in(JobState::starting), at).spent, &Job::waited);
  EXPECT_EQ(accrued(job_in(JobState::paused), at).spent, &Job::paused);
  const auto running = accrued(job_in(JobState::running), at);
  EXPECT_EQ(running.spent, &Job::ran);
  EXPECT_EQ(running.passed, std::chrono::seconds{10});
  EXPECT_EQ(running.slot_seconds, 20);
  EXPECT_EQ(running.lost, nullptr);
  EXPECT_EQ(accrued(job_in(JobState::resizing), at).lost, &Bill::resize);
}

TEST(Accrual, OfAStopIsLostByItsCause) {
  Job job = job_in(JobState::stopping);
  job.current.emplace();
  for (const auto& [cause, lost] : {std::pair{Cause::preempted, &Bill::preemption},
                                    std::pair{Cause::gang_failed, &Bill::failure}}) {
    job.current->stop = Stop{cause, {}, {}, {}};
    EXPECT_EQ(accrued(job, Time{} + std::chrono::seconds{1}).lost, lost);
  }
  job.current->stop = Stop{Cause::cancelled, {}, {}, {}};
  EXPECT_EQ(accrued(job, Time{} + std::chrono::seconds{1}).lost, nullptr);
}

TEST(Accrual, IsNothingOnceTheJobIsOverOrTimeRunsBack) {
  EXPECT_EQ(accrued(job_in(JobState::completed), Time{} + std::chrono::seconds{10}).spent, nullptr);
  EXPECT_EQ(accrued(job_in(JobState::running), Time{} - std::chrono::seconds{10}).slot_seconds, 0);
}

}  // namespace
}  // namespace paceline
