#include "wire/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::HasSubstr;

TEST(Report, SeparatesReservedKeysFromMetrics) {
  const auto report = parse_report(
      R"({"step": 12, "total_steps": 40.0, "epoch": 0.5, "samples": 768, "accuracy": 0.91, "loss": 1})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 12U);
  EXPECT_EQ(report->total_steps, 40U);
  EXPECT_EQ(report->samples, 768U);
  EXPECT_EQ(report->epoch, 0.5);
  EXPECT_FALSE(report->learning_rate);
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"accuracy", 0.91}, {"loss", 1}}));
}

TEST(Report, LeavesOutNumbersThatAreNotFinite) {
  const auto report =
      parse_report(R"({"loss": NaN, "low": -Infinity, "NaN": 1, "step": 3, "x": null})");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"NaN", 1}}));
  EXPECT_EQ(report->step, 3U);
}

TEST(Report, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(parse_report(R"({"step": -1})").error().message,
            "'step' must be a whole number from 0 to 2^53.");
  EXPECT_EQ(parse_report(R"({"step": 1.5})").error().message,
            "'step' must be a whole number from 0 to 2^53.");
  EXPECT_NE(parse_report(R"({"accuracy": "high"})").error().message.find("'accuracy'"),
            std::string::npos);
  EXPECT_EQ(parse_report(R"({"checkpoint": "a.pt"})").error().message,
            "'checkpoint' must be an absolute path.");
  EXPECT_EQ(parse_report("[1]").error().message, "The report is not a JSON object.");
  EXPECT_EQ(parse_report("{").error().message, "The report is not JSON.");
}

TEST(Report, IsBounded) {
  std::string many = "{\"a\": 1";
  for (int i = 0; i < 64; ++i) many += ", \"m" + std::to_string(i) + "\": 1";
  EXPECT_EQ(parse_report(many + "}").error().message, "A report may hold 64 metrics.");
  EXPECT_FALSE(parse_report("{\"" + std::string(129, 'a') + "\": 1}"));
  EXPECT_TRUE(parse_report("{\"" + std::string(128, 'a') + "\": 1}"));
  EXPECT_EQ(parse_report(std::string(kReportBytesMax + 1, ' ')).error().code, ErrorCode::too_large);
}

TEST(Report, CountsToWhereANumberIsExact) {
  EXPECT_EQ(parse_report(R"({"step": 9007199254740992})")->step, std::uint64_t{1} << 53);
  EXPECT_FALSE(parse_report(R"({"step": 9007199254740993})"));
  EXPECT_FALSE(parse_report(R"({"step": 18446744073709551615})"));
}

TEST(Report, TakesNamesThatShowAlone) {
  EXPECT_TRUE(parse_report("{\"pr\u00e4zision\": 1}"));
  for (const char* name : {"a\\u0007b", "a\\u009bb", "a\\u202eb", "a\\u2066b", "\\ufeffa"})
    EXPECT_FALSE(parse_report("{\"" + std::string(name) + "\": 1}")) << name;
  const auto status =
      parse_trainer_status(R"({"trainerStatus": {"metrics": [{"name": "a\u202eb", "value": 1}]}})");
  EXPECT_TRUE(status->report.metrics.empty());
}

TEST(Report, TakesNoByteOrderMark) { EXPECT_FALSE(parse_report("\xEF\xBB\xBF{\"step\": 1}")); }

TEST(ReportLine, IsFoundAfterAnyPrefix) {
  EXPECT_EQ(parse_report_line(R"({"paceline": {"step": 12}})")->step, 12U);
  EXPECT_EQ(parse_report_line("12:00 INFO [rank 0] { \"paceline\": {\"step\": 13}}\r")->step, 13U);
  const auto checkpoint =
      parse_report_line(R"({"paceline": {"checkpoint": "/tmp/a.pt", "step": 5}})");
  EXPECT_EQ(checkpoint->checkpoint, "/tmp/a.pt");
}

TEST(ReportLine, MayTellOfAModel) {
  const std::string digits(64, 'a');
  const auto report = parse_report_line(
      R"({"paceline": {"model": "/m.pt", "bytes": 9, "step": 5, "loss": 1, "sha256": ")" + digits +
      R"("}})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->model, "/m.pt");
  EXPECT_EQ(report->sha256, digits);
  EXPECT_EQ(report->bytes, 9U);
  EXPECT_EQ(report->metrics, (std::map<std::string, double>{{"loss", 1}}));
  EXPECT_EQ(parse_report(R"({"model": 7, "bytes": 9})")->metrics.size(), 2U)
      << "metrics, where no model is told of";
}

TEST(Report, MayTellHowAResumeWent) {
  const auto report =
      parse_report(R"({"resume_audit": {"agrees": true, "text": "step 5"}, "step": 9})");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->resume, (ResumeAudit{true, "step 5"}));
  EXPECT_EQ(report->step, 9U);
  EXPECT_EQ(parse_report(R"({"resume_audit": 7})")->metrics.size(), 1U) << "a metric, as any other";
  for (const std::string odd :
       {R"({})", R"({"agrees": true})", R"({"agrees": 1, "text": "a"})",
        R"({"agrees": true, "text": 1})", R"({"agrees": true, "text": "a\nb"})",
        R"({"agrees": true, "text": "a", "more": 1})"}) {
    const auto wrong = parse_report("{\"resume_audit\": " + odd + "}");
    ASSERT_FALSE(wrong) << odd;
    EXPECT_THAT(wrong.error().message, HasSubstr("'resume_audit' must be")) << odd;
  }
  EXPECT_FALSE(parse_report(R"({"resume_audit": {"agrees": true, "text": ")" +
                            std::string(kResumeTextMax + 1, 'a') + "\"}}"));
}

TEST(ReportLine, EverythingElseIsTheScriptsOwn) {
  for (const char* line :
       {"", "paceline", "\"paceline\"", R"({"paceline": 3})", R"({"paceline": {"step": 1})",
        R"({"other": {"paceline": 1}})", R"({"paceline": {"step": "x"}})"})
    EXPECT_FALSE(parse_report_line(line)) << line;
}

TEST(Checkpoint, NeedsAnAbsolutePath) {
  const auto checkpoint = parse_checkpoint(R"({"path": "/a/b.pt", "step": 100, "samples": 6400})");
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->checkpoint, "/a/b.pt");
  EXPECT_EQ(checkpoint->samples, 6400U);
  EXPECT_FALSE(parse_checkpoint("{}"));
  EXPECT_FALSE(parse_checkpoint(R"({"path": "b.pt"})"));
  EXPECT_FALSE(parse_checkpoint(R"({"path": "/b.pt", "loss": 3})"));
}

TEST(Model, NeedsAnAbsolutePathAlone) {
  const std::string digits(64, 'a');
  const auto model =
      parse_model(R"({"path": "/m.pt", "bytes": 1024, "step": 100, "samples": 6400, "sha256": ")" +
                  digits + "\"}");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->model, "/m.pt");
  EXPECT_EQ(model->sha256, digits);
  EXPECT_EQ(model->bytes, 1024U);
  EXPECT_EQ(model->step, 100U);
  EXPECT_EQ(model->samples, 6400U);
  EXPECT_TRUE(parse_model(R"({"path": "/m.pt", "bytes": null})"));
  const auto problem = [](const std::string& json) { return parse_model(json).error().message; };
  EXPECT_EQ(problem("{}"), "A model needs its 'path'.");
  EXPECT_EQ(problem(R"({"path": "m.pt"})"), "'path' must be an absolute path.");
  EXPECT_EQ(problem(R"({"path": "/m", "bytes": -1})"),
            "'bytes' must be a whole number from 0 to 2^53.");
  EXPECT_EQ(problem(R"({"path": "/m", "loss": 3})"),
            "A model has path, bytes, sha256, step and samples, but no 'loss'.");
  for (const char* wrong : {"7", R"("abc")", R"("")"})
    EXPECT_EQ(problem(R"({"path": "/m", "sha256": )" + std::string(wrong) + "}"),
              "'sha256' must be 64 hexadecimal digits, written small.");
}

TEST(TrainerStatus, ReadsWhatHuggingFaceSends) {
  const auto status = parse_trainer_status(
      R"({"trainerStatus": {"lastUpdatedTime": "2026-03-06T10:00:00+00:00", "progressPercentage": 50,
          "estimatedRemainingSeconds": 30, "metrics": [{"name": "loss", "value": "0.25"},
          {"name": "current_step", "value": "200"}, {"name": "total_steps", "value": "400"},
          {"name": "current_epoch", "value": "1.5"}, {"name": "learning_rate", "value": "5e-05"},
          {"name": "grad_norm", "value": "nan"}]}})");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->percent, 50.0);
  EXPECT_EQ(status->report.step, 200U);
  EXPECT_EQ(status->report.total_steps, 400U);
  EXPECT_EQ(status->report.epoch, 1.5);
  EXPECT_EQ(status->report.learning_rate, 5e-05);
  EXPECT_EQ(status->report.metrics, (std::map<std::string, double>{{"loss", 0.25}}));
  EXPECT_FALSE(parse_trainer_status("{}"));
}

}  // namespace
}  // namespace paceline
