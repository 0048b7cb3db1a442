// Text from outside (log lines, names in file systems) made fit for JSON, which is UTF-8 or
// nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paceline {

// Bytes of the well-formed code point at the start of `text`: 1..4, or 0 if there is none. Refuses
// overlong forms, surrogates and everything over U+10FFFF. REQUIRES: text is not empty.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

// `text` with every malformed byte replaced by U+FFFD.
std::string to_utf8(std::string_view text);

// A code point that doesn't show, or changes how what stands around it shows: a control character
// (C0, C1, DEL), a mark that turns the direction of writing, a separator of lines, a byte order
// mark.
bool is_invisible(char32_t point);

// The code point at the start of `text`; of a malformed one its first byte. REQUIRES: not empty.
char32_t first_point(std::string_view text);

// Is it UTF-8 that shows as it is? What names have to be.
bool is_visible(std::string_view text);

// `text` with a space for every code point that doesn't show, so that nobody's job name moves another
// one's cursor or begins a line.
std::string printable(std::string_view text);

// How many bytes at the end of `text` are the beginning of a code point that is not complete yet:
// 0..3. A caller that cuts a growing text into pieces keeps them for the next piece.
std::size_t utf8_unfinished(std::string_view text);

}  // namespace paceline
