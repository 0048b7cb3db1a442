#include "sim/traces/csv.hpp"

namespace paceline::sim {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<CsvNext> CsvReader::next() {
  begin_record();
  while (!lost_) {
    if (next_ == piece_.size()) {
      const auto piece = pieces_();
      if (!piece) return fail(piece.error());
      piece_ = *piece;
      next_ = 0;
      if (piece_.empty()) break;
    }
    const char c = piece_[next_++];
    if (mark_seen_ < kByteOrderMark.size() && c == kByteOrderMark[mark_seen_]) {
      ++mark_seen_;
      continue;
    }
    mark_seen_ = kByteOrderMark.size();
    if (!take(c)) continue;
    if (!is_blank()) return end_record();
    begin_record();
  }
  if (lost_ && fault_.empty()) return CsvNext::end;
  if (at_ == At::quoted) wrong("opens a quote that is never closed");
  drop_return();
  return is_blank() ? CsvNext::end : end_record();
}

void CsvReader::begin_record() {
  first_line_ = line_;
  at_ = At::field;
  was_quoted_ = false;
  text_.clear();
  ends_.clear();
  fault_ = {};
}

bool CsvReader::take(char c) {
  if (c == '\n') ++line_;
  if (at_ == At::fault) return c == '\n';
  if (c == '\0') wrong("holds a zero byte, so this is not a text file");
  if (text_.size() + ends_.size() > kRecordBytesMax) wrong("is over 1 MiB long");
  switch (at_) {
    case At::field:
    case At::unquoted:
      return take_in_field(c);
    case At::quoted:
      if (c == '"')
        at_ = At::after_quote;
      else
        text_.push_back(c);
      return false;
    case At::after_quote:
    case At::after_quote_cr:
      return take_after_quote(c);
    case At::fault:
      return c == '\n';
  }
  return false;
}

bool CsvReader::take_in_field(char c) {
  if (c == '\n') {
    drop_return();
    return true;
  }
  if (c == dialect_.separator) {
    end_field();
  } else if (c == '"' && dialect_.quotes && at_ == At::field) {
    at_ = At::quoted;
    was_quoted_ = true;
  } else {
    at_ = At::unquoted;
    text_.push_back(c);
  }
  return false;
}

bool CsvReader::take_after_quote(char c) {
  if (c == '\n') return true;
  if (at_ == At::after_quote && c == '"') {
    at_ = At::quoted;
    text_.push_back(c);
  } else if (at_ == At::after_quote && c == '\r') {
    at_ = At::after_quote_cr;
  } else if (at_ == At::after_quote && c == dialect_.separator) {
    end_field();
  } else {
    wrong("goes on after a closing quote");
  }
  return false;
}

void CsvReader::wrong(std::string_view fault) {
  lost_ = at_ == At::quoted;
  fault_ = fault;
  at_ = At::fault;
}

// Of a line that ends with CRLF.
void CsvReader::drop_return() {
  if (at_ == At::unquoted && text_.back() == '\r') text_.pop_back();
}

void CsvReader::end_field() {
  ends_.push_back(text_.size());
  at_ = At::field;
}

CsvNext CsvReader::end_record() {
  if (at_ == At::fault) return lost_ ? CsvNext::lost : CsvNext::bad_record;
  end_field();
  fields_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    fields_.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return CsvNext::record;
}

bool CsvReader::is_blank() const {
  return text_.empty() && ends_.empty() && !was_quoted_ && at_ != At::fault;
}

}  // namespace paceline::sim
