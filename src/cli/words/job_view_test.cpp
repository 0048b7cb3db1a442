#include "cli/words/job_view.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

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
    (void)job_page(strange, strange, Console({}), 0);
    (void)jobs_table({strange}, {}, Console({}), 0);
  }
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
