// A file that a person names, as a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

// What the file at `path` holds, standard input for "-"; at most one byte more than `bytes_max`.
// `noun` is what errors call it: "job file". Errors: not_found, forbidden, storage.
Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max,
                                   std::string_view noun, std::string_view hint);

}  // namespace paceline
