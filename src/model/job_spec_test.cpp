#include "model/job_spec.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

namespace paceline {
namespace {

TEST(ParseRange, ReadsANumberARangeAndAWish) {
  EXPECT_EQ(parse_range("4"), (WorkerRange{4, 4, 4}));
  EXPECT_EQ(parse_range("2..8"), (WorkerRange{2, 8, 2}));
  EXPECT_EQ(parse_range("2..8@4"), (WorkerRange{2, 8, 4}));
  EXPECT_EQ(parse_range("3@3"), (WorkerRange{3, 3, 3}));
}

TEST(ParseRange, SaysWhatIsWrongAndHowToWriteIt) {
  const auto message = [](std::string_view text) { return parse_range(text).error().message; };
  EXPECT_EQ(message("0"), "'0' is not a range: less than 1 is impossible.");
  EXPECT_EQ(message("-2"), "'-2' is not a range: less than 1 is impossible.");
  EXPECT_EQ(message("8..2"), "'8..2' is not a range: its minimum is larger than its maximum.");
  EXPECT_EQ(message("2..8@9"), "'2..8@9' is not a range: the wish lies outside.");
  EXPECT_EQ(message("999999999"), "'999999999' is not a range: it is larger than any cluster.");
  for (const auto* text :
       {"", "four", "2..", "..2", "2...8", "2..8@", "@2", "1.5", "+4", " 4", "4 ", "99999999999"}) {
    const auto range = parse_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().code, ErrorCode::invalid);
    EXPECT_NE(range.error().hint.find("2..8@4"), std::string::npos);
  }
}

RC_GTEST_PROP(ParseRange, ReadsBackWhatIsWritten, ()) {
  const auto min = *rc::gen::inRange(1, 1000);
  const auto max = *rc::gen::inRange(min, 2000);
  const auto want = *rc::gen::inRange(min, max + 1);
  const WorkerRange range{min, max, want};
  RC_ASSERT(parse_range(to_string(range)) == range);
}

TEST(ParseElastic, KnowsThreeWords) {
  for (const auto elastic : {Elastic::automatic, Elastic::restart, Elastic::no}) {
    EXPECT_EQ(parse_elastic(to_string(elastic)), elastic);
  }
  EXPECT_EQ(parse_elastic("yes").error().message, "'yes' is no way to be elastic.");
}

JobSpec valid_spec() {
  JobSpec spec;
  spec.name = "digits";
  spec.workers = {2, 8, 4};
  return spec;
}

TEST(ValidateSpec, WantsSizesThatAreWholeCopiesOfTheModel) {
  auto spec = valid_spec();
  spec.mesh = {2, 1};
  EXPECT_TRUE(validate(spec));
  spec.mesh = {2, 2};
  EXPECT_EQ(validate(spec).error().message,
            "The sizes 2..8@4 don't fit a mesh of tensor=2, pipeline=2.");
  EXPECT_EQ(validate(spec).error().hint, "Give multiples of 4 workers.");
  spec.mesh = {0, 2};
  EXPECT_EQ(validate(spec).error().message, "The mesh tensor=0, pipeline=2 is impossible.");
}

TEST(ValidateSpec, TakesWhatIsPossible) {
  EXPECT_TRUE(validate(valid_spec()));
  auto spec = valid_spec();
  spec.name = std::string(kNameLengthMax, 'n');
  spec.priority = 100;
  spec.retries = kRetriesMax;
  spec.max_duration = std::chrono::seconds{1};
  spec.workers = {kWorkersMax, kWorkersMax, kWorkersMax};
  EXPECT_TRUE(validate(spec));
}

TEST(ValidateSpec, RefusesWhatIsImpossibleInOneSentence) {
  const std::vector<std::pair<std::function<void(JobSpec&)>, std::string>> cases = {
      {[](JobSpec& s) { s.name = ""; }, "A job's name has 1 to 128 bytes."},
      {[](JobSpec& s) { s.name = std::string(129, 'n'); }, "A job's name has 1 to 128 bytes."},
      {[](JobSpec& s) { s.name = "a\nb"; },
       "A job's name is text without control characters or marks that turn its direction."},
      {[](JobSpec& s) {
         s.name =
             "a\xE2\x80\xAE"
             "b";
       },
       "A job's name is text without control characters or marks that turn its direction."},
      {[](JobSpec& s) {
         s.workers = {0, 1, 1};
       },
       "The worker range 0..1@1 is impossible."},
      {[](JobSpec& s) {
         s.workers = {3, 2, 3};
       },
       "The worker range 3..2@3 is impossible."},
      {[](JobSpec& s) {
         s.workers = {1, 2, 3};
       },
       "The worker range 1..2@3 is impossible."},
      {[](JobSpec& s) { s.slots_per_worker = 0; }, "0 slots per worker is impossible."},
      {[](JobSpec& s) { s.slots_per_worker = 1025; }, "1025 slots per worker is impossible."},
      {[](JobSpec& s) { s.cpus = -1; }, "The number of CPU cores is impossible."},
      {[](JobSpec& s) { s.cpus = std::numeric_limits<double>::quiet_NaN(); },
       "The number of CPU cores is impossible."},
      {[](JobSpec& s) { s.priority = 101; }, "Priority 101 is out of range."},
      {[](JobSpec& s) { s.priority = -1; }, "Priority -1 is out of range."},
      {[](JobSpec& s) { s.retries = -1; }, "-1 retries is out of range."},
      {[](JobSpec& s) { s.max_duration = Duration{0}; }, "max_duration must be positive."},
      {[](JobSpec& s) { s.expected_duration = Duration{-1}; }, "expect must be positive."},
      {[](JobSpec& s) { s.expected_samples = 0; }, "expect must be positive."},
      {[](JobSpec& s) {
         s.expected_speeds = {{0, 1}};
       },
       "Expected speeds are above 0, for sizes that rise from 1."},
      {[](JobSpec& s) {
         s.expected_speeds = {{2, 1}, {2, 2}};
       },
       "Expected speeds are above 0, for sizes that rise from 1."},
      {[](JobSpec& s) {
         s.expected_speeds = {{1, 0}};
       },
       "Expected speeds are above 0, for sizes that rise from 1."},
      {[](JobSpec& s) { s.expected_speeds.resize(1025); },
       "A job expects speeds of at most 1024 sizes."},
      {[](JobSpec& s) { s.notice.grace = Duration{-1}; }, "The grace period is impossible."},
      {[](JobSpec& s) { s.notice.signal = 9; }, "Signal 9 can't be a notice."},
      {[](JobSpec& s) { s.after.assign(1001, JobId{1}); }, "A job waits for at most 1000 others."},
  };
  for (const auto& [spoil, sentence] : cases) {
    auto spec = valid_spec();
    spoil(spec);
    const auto verdict = validate(spec);
    ASSERT_FALSE(verdict) << sentence;
    EXPECT_EQ(verdict.error().message, sentence);
    EXPECT_FALSE(verdict.error().hint.empty()) << sentence;
  }
}

}  // namespace
}  // namespace paceline
