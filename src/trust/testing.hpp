// For tests: authorities whose time is a number, and files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "files/temp_folder_testing.hpp"
#include "trust/authority.hpp"

namespace paceline {

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Into a file that is there already: its mode stays.
inline void overwrite(const std::filesystem::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

template <class T>
T value_of(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().message;
  return std::move(result).value();
}

inline Authority authority_in(const std::filesystem::path& dir, WallTime now) {
  return value_of(Authority::open(dir, now));
}

}  // namespace paceline
