// For tests: a directory of their own, and authorities whose time is a number.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/time.hpp"
#include "trust/authority.hpp"

namespace paceline {

class TrustFolder {
 public:
  TrustFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "paceline-trust-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TrustFolder(const TrustFolder&) = delete;
  TrustFolder& operator=(const TrustFolder&) = delete;
  ~TrustFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

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
