// Records of separated values from a stream, one at a time: RFC 4180 with any separator. Takes LF and
// CRLF, a byte order mark, quoted fields with separators, newlines and doubled quotes in them, and
// a last record without a newline; passes blank lines over. A quote inside an unquoted field is
// a letter.
//
//   CsvReader csv(pieces, {.separator = '\t', .quotes = false});
//   for (;;) {
//     Result<CsvNext> next = csv.next();
//     if (!next) return fail(next.error());         // of the pieces
//     if (*next == CsvNext::end) break;
//     if (*next == CsvNext::record) use(csv.line(), csv.fields());
//     else complain(csv.line(), csv.fault());
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline::sim {

inline constexpr std::size_t kRecordBytesMax = 1UL << 20;

struct CsvDialect {
  char separator = ',';
  bool quotes = true;  // or every quote is a letter
};

enum class CsvNext {
  record,
  end,
  bad_record,  // see fault(); the next call goes on with the next line
  lost,        // likewise, but where the next record begins can't be told: the end
};

// Gives the next piece of the text, valid until its next call; empty at the end.
using TextPieces = std::function<Result<std::string_view>()>;

class CsvReader {
 public:
  CsvReader(TextPieces pieces, CsvDialect dialect)
      : pieces_(std::move(pieces)), dialect_(dialect) {}

  Result<CsvNext> next();

  // Of the record; valid until the next call.
  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  // The first one of the record, from 1.
  [[nodiscard]] std::int64_t line() const { return first_line_; }
  // What is wrong with it, to be read after "line 7 ".
  [[nodiscard]] std::string_view fault() const { return fault_; }

 private:
  enum class At { field, unquoted, quoted, after_quote, after_quote_cr, fault };

  void begin_record();
  // Whether the record ends with it.
  bool take(char c);
  bool take_in_field(char c);
  bool take_after_quote(char c);
  void wrong(std::string_view fault);
  void drop_return();
  void end_field();
  CsvNext end_record();
  [[nodiscard]] bool is_blank() const;

  TextPieces pieces_;
  CsvDialect dialect_;
  std::string_view piece_;
  std::size_t next_ = 0;       // in piece_
  std::size_t mark_seen_ = 0;  // bytes of the byte order mark
  std::int64_t line_ = 1;
  std::int64_t first_line_ = 1;
  At at_ = At::field;
  bool was_quoted_ = false;
  bool lost_ = false;
  std::string text_;  // the fields, one after the other
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> fields_;
  std::string_view fault_;
};

}  // namespace paceline::sim
