// What is wrong with a file is said in one sentence that names the file, the line and the column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/traces/read_trace.hpp"

namespace paceline::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTestdata = "src/sim/traces/testdata/";
const std::string kItp = "job_id,submission_time,duration,num_gpu\n";

Error error_of(const std::string& text, const TraceOptions& options = {}) {
  const auto trace = read_trace_bytes(text, "t.csv", options);
  if (!trace) return trace.error();
  ADD_FAILURE() << "was read: " << text;
  return {};
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct BadLine {
  std::string line;
  std::string said;  // after "'t.csv', line 2"
};

TEST(BadLine, IsNamedWithItsColumnAndValue) {
  const std::vector<BadLine> cases = {
      {"a,1,600", " has 3 columns, the first line has 4."},
      {"a,1,600,1,5", " has 5 columns, the first line has 4."},
      {"a", " has 1 columns, the first line has 4."},
      {",1,600,1", ", column 'job_id' is empty."},
      {"a,,600,1", ", column 'submission_time' is empty."},
      {"a,1,-600,1", ", column 'duration': '-600' is negative."},
      {"a,1,600,-1", ", column 'num_gpu': '-1' is negative."},
      {"a,1,nan,1", ", column 'duration': 'nan' is not a finite number."},
      {"a,inf,600,1", ", column 'submission_time': 'inf' is not a finite number."},
      {"a,1,1e300,1", ", column 'duration': '1e300' is over 10,000,000,000."},
      {"a,1,99999999999999999999,1",
       ", column 'duration': '99999999999999999999' is over 10,000,000,000."},
      {"a,1,600,1000001", ", column 'num_gpu': '1000001' asks for over 1,000,000 slots."},
      {"a,1,600,many", ", column 'num_gpu': 'many' is not a finite number."},
      {"\xFF,1,600,1", ", column 'job_id': '\xEF\xBF\xBD' is not printable UTF-8."},
      {"a\tb,1,600,1", ", column 'job_id': 'a b' is not printable UTF-8."},
      {std::string(4097, 'x') + ",1,600,1",
       ", column 'job_id': '" + std::string(60, 'x') + "…' is over 4 KiB long."},
      {"\"a\"b,1,600,1", " goes on after a closing quote."},
      {std::string("a,1,600,\0", 9), " holds a zero byte, so this is not a text file."},
      {std::string(2 << 20, 'x'), " is over 1 MiB long."},
  };
  for (const BadLine& bad : cases) {
    const Error error = error_of(kItp + bad.line + "\nb,1,600,1\n");
    EXPECT_EQ(error.code, ErrorCode::invalid);
    EXPECT_EQ(error.message, "'t.csv', line 2" + bad.said);
    EXPECT_THAT(error.hint, HasSubstr("--skip-bad-lines"));
    const auto rest =
        read_trace_bytes(kItp + bad.line + "\nb,1,600,1\n", "t.csv", {.skip_bad_lines = true});
    ASSERT_TRUE(rest.has_value()) << rest.error().message;
    EXPECT_EQ(rest->bad_lines, 1U);
    ASSERT_EQ(rest->jobs.size(), 1U);
    EXPECT_EQ(rest->jobs[0].name, "b");
  }
}

TEST(BadLine, OfOtherFormats) {
  EXPECT_EQ(
      error_of("timestamp,duration,num_gpus,gpu_time,cluster\n2017-02-30 00:00:00,1,1,1,c\n")
          .message,
      "'t.csv', line 2, column 'timestamp': '2017-02-30 00:00:00' is a day that no calendar has.");
  EXPECT_EQ(error_of("name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
                     "p,1,1000,5,10,20\n")
                .message,
            "'t.csv', line 2, column 'deletion_time': '10' is before its beginning.");
}

TEST(BadTrace, RepeatsAName) {
  const std::string text = kItp + "a,1,60,1\nb,1,60,1\na,2,60,1\nb,3,60,1\n";
  EXPECT_EQ(error_of(text).message, "'t.csv', line 4 has the name 'a', as line 2 has.");
  const auto rest = read_trace_bytes(text, "t.csv", {.skip_bad_lines = true});
  ASSERT_TRUE(rest.has_value());
  EXPECT_EQ(rest->bad_lines, 2U);
  ASSERT_EQ(rest->jobs.size(), 2U);
  EXPECT_EQ(rest->jobs[1].line, 3);
}

TEST(BadTrace, HasNothingInIt) {
  EXPECT_EQ(error_of("").message, "'t.csv' is empty.");
  EXPECT_EQ(error_of("\n\r\n\n").message, "'t.csv' is empty.");
  EXPECT_EQ(error_of(kItp).message, "'t.csv' holds no jobs, only a header.");
}

TEST(BadTrace, IsOfNoFormat) {
  const Error error = error_of("id,when,how long\n1,2,3\n");
  EXPECT_EQ(error.message,
            "'t.csv' has the columns of no format: its first line is 'id,when,how long'.");
  EXPECT_THAT(error.hint, StartsWith("Formats: auto, itp, philly, "));
  EXPECT_THAT(error_of(std::string("\x7F"
                                   "ELF\x02\x01\0\0\0",
                                   9))
                  .message,
              StartsWith("'t.csv' has the columns of no format: its first line is ' ELF  "));
  EXPECT_THAT(error_of("\"job_id,submission_time,duration,num_gpu\n").message,
              HasSubstr("of no format"));
}

TEST(BadTrace, HasNotTheColumnsThatItsOwnerNames) {
  const std::string text = "when,gpus,hours\n1,2,3\n";
  const auto columns = parse_own_columns("submitted_at=when,slots=gpus,duration=seconds");
  const Error missing = error_of(text, {.columns = *columns});
  EXPECT_EQ(missing.message,
            "'t.csv' is no paceline trace: it has no column 'seconds' in its first line.");
  EXPECT_THAT(missing.hint, HasSubstr("--columns 'submitted_at="));
  EXPECT_EQ(error_of(text, {.columns = *parse_own_columns("slots=gpus")}).message,
            "'t.csv' is no paceline trace: it has no column 'submitted_at' in its first line.");
  EXPECT_EQ(error_of(text, {.format = "itp", .columns = *columns}).message,
            "The columns of itp traces have their names already.");
}

TEST(OwnColumns, AreNamedOnceAndKnown) {
  const auto error = [](std::string_view text) { return parse_own_columns(text).error().message; };
  EXPECT_EQ(error("when"), "'when' doesn't say which column is which.");
  EXPECT_EQ(error(""), "'' doesn't say which column is which.");
  EXPECT_EQ(error("slots=a,"), "'' doesn't say which column is which.");
  EXPECT_EQ(error("slots="), "'slots=' doesn't say which column is which.");
  EXPECT_EQ(error("gpus=a"), "A trace has no column 'gpus'.");
  EXPECT_EQ(error("slots=a,slots=b"), "'slots=b' names a column for the second time.");
  EXPECT_EQ(error("slots=a,duration=a"), "'duration=a' names a column for the second time.");
}

TEST(BadTrace, IsOfSeveralFormats) {
  const Error error = error_of("job_id,submission_time,submit_time,duration,num_gpu,model_name\n");
  EXPECT_EQ(error.message, "'t.csv' has the columns of several formats: itp, tiresias.");
  EXPECT_EQ(error.hint, "Say which with --format.");
}

TEST(BadTrace, IsNotOfTheNamedFormat) {
  EXPECT_EQ(error_of(kItp, {.format = "philly"}).message,
            "'t.csv' is no philly trace: it has no column 'timestamp' in its first line.");
  EXPECT_EQ(error_of(kItp, {.format = "gavel"}).message,
            "'t.csv' is no gavel trace: it begins with a line that is none of its jobs.");
  EXPECT_EQ(
      error_of("job_id,submission_time,duration,num_gpu,duration\n", {.format = "itp"}).message,
      "'t.csv' is no itp trace: it has the column 'duration' twice.");
  EXPECT_EQ(error_of(kItp, {.format = "csv"}).message, "There is no trace format 'csv'.");
}

TEST(BadTrace, LosesItsLinesInAQuote) {
  for (const bool skip : {false, true}) {
    const Error error = error_of(kItp + "a,1,60,\"1\nb,1,60,1\n", {.skip_bad_lines = skip});
    EXPECT_EQ(error.code, ErrorCode::data);
    EXPECT_EQ(error.message, "'t.csv', line 2 opens a quote that is never closed.");
  }
}

TEST(BadTrace, IsMissingOrADirectory) {
  const auto missing = read_trace(kTestdata + "nothing.csv", {});
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "There is no file 'src/sim/traces/testdata/nothing.csv'.");
  EXPECT_EQ(read_trace("src/sim/traces", {}).error().message,
            "'src/sim/traces' is a directory, not a file.");
}

TEST(PackedTrace, IsReadAsItIs) {
  for (const char* name :
       {"itp.csv", "itp.csv.gz", "itp.csv.xz", "itp.csv.zst", "itp.csv.bz2", "itp.tar.gz"}) {
    const auto trace = read_trace(kTestdata + name, {});
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    ASSERT_EQ(trace->jobs.size(), 3U) << name;
    EXPECT_EQ(trace->jobs[2].name, "b013");
  }
}

// Cut anywhere, it is refused; a byte changed anywhere, it is refused or says the same.
TEST(PackedTrace, IsRefusedWhenCutOff) {
  for (const char* name : {"itp.csv.gz", "itp.csv.xz", "itp.csv.zst", "itp.csv.bz2"}) {
    const std::string whole = bytes_of(kTestdata + name);
    ASSERT_FALSE(whole.empty());
    for (std::size_t size = 0; size + 8 < whole.size(); ++size)
      EXPECT_FALSE(read_trace_bytes(whole.substr(0, size), name, {}).has_value())
          << name << " cut to " << size;
  }
}

TEST(PackedTrace, SaysThatItIsCutOff) {
  const std::string whole = bytes_of(kTestdata + "itp.csv.xz");
  const Error error = error_of(whole.substr(0, whole.size() / 2), {.skip_bad_lines = true});
  EXPECT_EQ(error.code, ErrorCode::data);
  EXPECT_THAT(error.message, StartsWith("'t.csv' is cut off or damaged: "));
}

TEST(PackedTrace, SurvivesAnyChangedByte) {
  for (const char* name : {"itp.csv.xz", "itp.tar.gz"}) {
    const std::string whole = bytes_of(kTestdata + name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      const auto trace = read_trace_bytes(changed, name, {});
      EXPECT_TRUE(trace || !trace.error().message.empty());
    }
  }
}

TEST(PackedTrace, IsAloneInItsTar) {
  const auto trace = read_trace(kTestdata + "two.tar.gz", {});
  EXPECT_EQ(trace.error().message,
            "'src/sim/traces/testdata/two.tar.gz' holds more than one file: 'traces/itp.csv' and "
            "'traces/again.csv'.");
}

}  // namespace
}  // namespace paceline::sim
