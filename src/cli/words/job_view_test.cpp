#include "cli/words/job_view.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Document job(std::string_view more) {
  auto text = std::string(R"({"id": 7, "state": "RUNNING", "workers": 2, "min": 1, "max": 4)");
  return parse_document(text + (more.empty() ? "" : ", ") + std::string(more) + "}").value();
}

TEST(ProgressLine, SaysHowFarTheJobIs) {
  EXPECT_EQ(progress_line(job(R"("ran_seconds": 60, "metrics": {"accuracy": 0.912345},
      "target": {"metric": "accuracy", "final": 0.95},
      "remaining": {"seconds": 150},
      "progress": {"step": 100, "total_steps": 400, "ratio": 0.25, "step_seconds": 0.5})")),
            "job 7  RUNNING  2/1..4 workers  25%  step 100/400  0.9123→0.95 accuracy  2m30s left");
  EXPECT_EQ(progress_line(job("")), "job 7  RUNNING  2/1..4 workers");
}

TEST(ProgressLine, SaysWhyAJobWaits) {
  const auto waiting = parse_document(
      R"({"id": 7, "state": "PENDING", "workers": 0, "reason": "waits for 2 free slots"})");
  EXPECT_EQ(progress_line(*waiting), "job 7  PENDING  waits for 2 free slots");
}

TEST(JobView, BearsWhatItDoesNotKnow) {
  for (const auto* text :
       {"{}", "[]", "null", R"({"id": "x", "progress": [], "metrics": 3, "gang": {},
                                                "target": {"metric": 5, "final": "x"}, "state": "NEW"})"}) {
    const auto strange = parse_document(text).value();
    EXPECT_FALSE(is_over(strange));
    EXPECT_EQ(progress_text(strange), "-");
    EXPECT_EQ(metric_text(strange), "-");
    (void)job_page(strange, {strange}, Console({}), 0);
    (void)jobs_table({strange}, {}, Console({}), 0);
  }
}

constexpr std::string_view kReached =
    R"("target": {"metric": "acc", "direction": ">=", "deliver": 0.9, "final": 0.9,
                  "reached": true, "reached_at": 100}, "progress": {"ratio": 0.3})";

TEST(JobView, IsFullWhereItEndedAtItsTarget) {
  EXPECT_EQ(progress_text(job(kReached)), "30%");
  auto ended = job(kReached);
  ended["state"] = "COMPLETED";
  EXPECT_EQ(progress_text(ended), "100%");
  ended["target"]["reached"] = false;
  EXPECT_EQ(progress_text(ended), "30%");
}

TEST(JobView, ShowsWhatMetTheTarget) {
  auto reached = job(kReached);
  reached["metrics"] = {{"acc", 0.87}};
  EXPECT_EQ(metric_text(reached), "≥0.9 acc");
  EXPECT_THAT(job_page(reached, {Document(), 0.912}, Console({}), 100),
              HasSubstr("Target      acc >= 0.9, met by 0.912, reached 00:01:40\n"));
  reached["metrics"]["acc"] = 0.93;
  EXPECT_EQ(metric_text(reached), "0.93→0.9 acc");
  reached["target"]["direction"] = "<=";
  EXPECT_EQ(metric_text(reached), "≤0.9 acc");
}

TEST(JobView, ShowsWhatItsOwnerIsWarnedOf) {
  const auto page = [](std::string_view more) { return job_page(job(more), {}, Console({}), 100); };
  EXPECT_THAT(page(R"("warnings": [{"code": "no_rendezvous", "text": "nobody has met"}])"),
              HasSubstr("Warning     nobody has met\n"));
  EXPECT_THAT(page(R"("warnings": [])"), Not(HasSubstr("Warning")));
}

TEST(JobView, ShowsHowTheLastResumeWent) {
  const auto page = [](std::string_view more) { return job_page(job(more), {}, Console({}), 100); };
  EXPECT_THAT(
      page(R"("resume_audit": {"agrees": true, "text": "step 12 of checkpoint c.pt: all agree"})"),
      HasSubstr("Resumed     at step 12 of checkpoint c.pt: all agree\n"));
  EXPECT_THAT(page(R"("resume_audit": {"agrees": false, "text": "the learning rates are 0.1"})"),
              HasSubstr("Resumed     not as it was left: the learning rates are 0.1\n"));
  EXPECT_THAT(page(R"("resume_audit": null)"), Not(HasSubstr("Resumed")));
}

TEST(JobView, SaysHowToReportWhatATargetAwaits) {
  auto waiting = job(R"("started_at": 5, "target": {"metric": "acc", "direction": ">=",
                        "deliver": 0.9, "final": 0.9, "reached": false})");
  const auto page = [&] { return job_page(waiting, {}, Console({}), 100); };
  waiting["metrics"] = nullptr;
  EXPECT_THAT(page(), HasSubstr("acc >= 0.9, not reached yet\n")) << "another's";
  waiting["metrics"] = Document::object();
  EXPECT_THAT(page(), HasSubstr("no report named acc so far: print {\"paceline\": {\"acc\": 0.5}} "
                                "as a line of its own\n"));
  waiting["metrics"] = {{"acc", 0.1}};
  EXPECT_THAT(page(), HasSubstr("acc >= 0.9, not reached yet\n"));
  waiting["metrics"] = Document::object();
  waiting["started_at"] = nullptr;
  EXPECT_THAT(page(), HasSubstr("acc >= 0.9, not reached yet\n"));
}

TEST(JobView, ShowsAnEnding) {
  EXPECT_EQ(job_sentence(parse_document(R"({"id": 7, "state": "FAILED", "reason": "ended",
                                            "ending": "rank 0 ran out of memory."})")
                             .value()),
            "Job 7 is FAILED: rank 0 ran out of memory.");
  EXPECT_EQ(job_sentence(parse_document(R"({"id": 7, "state": "STOPPING",
                                            "reason": "is stopping: its owner cancelled it"})")
                             .value()),
            "Job 7 is STOPPING: its owner cancelled it.");
}

}  // namespace
}  // namespace paceline
