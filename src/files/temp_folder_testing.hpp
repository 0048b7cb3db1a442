// For tests and fuzzers: a directory of their own, gone at the end of the scope.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.hpp"

namespace paceline {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "paceline-XXXXXX").string();
    check(::mkdtemp(name.data()) != nullptr, "there is room for a directory");
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace paceline
