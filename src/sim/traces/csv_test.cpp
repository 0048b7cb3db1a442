#include "sim/traces/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace paceline::sim {
namespace {

using Fields = std::vector<std::string>;
using ::testing::ElementsAre;

// `text` in pieces of `size` bytes.
TextPieces in_pieces(std::string text, std::size_t size) {
  return [text = std::move(text), at = std::size_t{0}, size]() mutable -> Result<std::string_view> {
    const std::size_t from = std::min(at, text.size());
    at = from + size;
    return std::string_view(text).substr(from, size);
  };
}

struct Line {
  std::int64_t number = 0;
  Fields fields;
  std::string fault;
  bool lost = false;

  friend bool operator==(const Line&, const Line&) = default;
};

std::vector<Line> read_lines(const std::string& text, CsvDialect dialect = {},
                             std::size_t size = 7) {
  CsvReader csv(in_pieces(text, size), dialect);
  std::vector<Line> lines;
  for (;;) {
    const auto next = csv.next();
    if (!next || *next == CsvNext::end) return lines;
    Line line{csv.line(), {}, std::string(csv.fault()), *next == CsvNext::lost};
    if (*next == CsvNext::record) line.fields = {csv.fields().begin(), csv.fields().end()};
    lines.push_back(std::move(line));
  }
}

std::vector<Fields> records(const std::string& text, CsvDialect dialect = {}) {
  std::vector<Fields> all;
  for (Line& line : read_lines(text, dialect)) all.push_back(std::move(line.fields));
  return all;
}

TEST(Csv, CutsFieldsAndLines) {
  EXPECT_THAT(records("a,b\n1,2\n"), ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}));
  EXPECT_THAT(records("a,b\r\n1,2\r\n"), ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}));
  EXPECT_THAT(records(",\n"), ElementsAre(Fields{"", ""}));
}

TEST(Csv, TheLastLineNeedsNoNewline) {
  EXPECT_THAT(records("a,b\n1,2"), ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}));
  EXPECT_THAT(records("a,"), ElementsAre(Fields{"a", ""}));
  EXPECT_THAT(records("a\r"), ElementsAre(Fields{"a"}));
  EXPECT_THAT(records("\"a\""), ElementsAre(Fields{"a"}));
}

TEST(Csv, PassesBlankLinesAndAMarkOver) {
  EXPECT_THAT(records(""), ElementsAre());
  EXPECT_THAT(records("\n\r\n\n"), ElementsAre());
  EXPECT_THAT(records("\xEF\xBB\xBF\"a\",b\n\n1,2\n\n"),
              ElementsAre(Fields{"a", "b"}, Fields{"1", "2"}));
  EXPECT_THAT(records("\"\"\n"), ElementsAre(Fields{""})) << "quoted, so somebody meant it";
}

TEST(Csv, QuotesHoldSeparatorsNewlinesAndQuotes) {
  EXPECT_THAT(records("\"a,b\",\"c\nd\",\"e\"\"f\"\n"), ElementsAre(Fields{"a,b", "c\nd", "e\"f"}));
  EXPECT_THAT(records("\"a\r\",\"b\"\r\n"), ElementsAre(Fields{"a\r", "b"}));
  EXPECT_THAT(records("a\"b,c\n"), ElementsAre(Fields{"a\"b", "c"}));
}

TEST(Csv, WithoutQuotesTheyAreLetters) {
  EXPECT_THAT(records("\"a|b\n", {.separator = '|', .quotes = false}),
              ElementsAre(Fields{"\"a", "b"}));
}

TEST(Csv, KnowsTheFirstLineOfARecord) {
  const auto lines = read_lines("a\n\n\"b\nb\"\nc\n");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].number, 1);
  EXPECT_EQ(lines[1].number, 3);
  EXPECT_EQ(lines[2].number, 5);
}

TEST(Csv, GoesOnAfterABadLine) {
  const auto lines = read_lines(std::string("a\n\"b\"x,\"\nc\0d\ne\n", 15));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1].fault, "goes on after a closing quote");
  EXPECT_EQ(lines[2].fault, "holds a zero byte, so this is not a text file");
  EXPECT_EQ(lines[3].fields, Fields{"e"});
  EXPECT_EQ(lines[3].number, 4);
}

TEST(Csv, AnOpenQuoteLosesTheRest) {
  const auto lines = read_lines("a\n\"b\nc\nd\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[1].lost);
  EXPECT_EQ(lines[1].number, 2);
  EXPECT_EQ(lines[1].fault, "opens a quote that is never closed");
}

TEST(Csv, BoundsALine) {
  const std::string longest(kRecordBytesMax, 'x');
  EXPECT_EQ(records(longest + "\na\n"), (std::vector<Fields>{{longest}, {"a"}}));
  const auto lines = read_lines(longest + "xx\na\n", {}, 1000);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].fault, "is over 1 MiB long");
  EXPECT_EQ(lines[1].fields, Fields{"a"});
  const auto commas = read_lines(std::string(kRecordBytesMax + 2, ',') + "\na\n", {}, 1000);
  EXPECT_EQ(commas.at(0).fault, "is over 1 MiB long");
  EXPECT_TRUE(read_lines('"' + longest + "xx\"\na\n", {}, 1000).at(0).lost);
}

TEST(Csv, TellsWhatItsPiecesSay) {
  CsvReader csv([]() -> Result<std::string_view> { return fail(ErrorCode::data, "Cut off."); }, {});
  EXPECT_EQ(csv.next().error().message, "Cut off.");
}

RC_GTEST_PROP(Csv, ReadsWhatWasWrittenInAnyPieces, ()) {
  const auto letters = rc::gen::elementOf(std::string("a,\"\n\r \t|"));
  const auto field = rc::gen::container<std::string>(letters);
  const auto record = rc::gen::nonEmpty(rc::gen::container<Fields>(field));
  const auto wanted = *rc::gen::container<std::vector<Fields>>(record);
  std::string text;
  for (const Fields& fields : wanted) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : fields[i]) text += c == '"' ? "\"\"" : std::string(1, c);
      text += '"';
    }
    text += *rc::gen::element("\n", "\r\n");
  }
  const auto size = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<Fields> got;
  for (Line& line : read_lines(text, {}, size)) got.push_back(std::move(line.fields));
  RC_ASSERT(got == wanted);
}

RC_GTEST_PROP(Csv, SaysTheSameInAnyPieces, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\"\n\r\0", 7)));
  const auto size = *rc::gen::inRange<std::size_t>(1, 10);
  RC_ASSERT(read_lines(text, {}, size) == read_lines(text, {}, 1000));
}

}  // namespace
}  // namespace paceline::sim
