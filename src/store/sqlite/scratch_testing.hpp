// For tests: a fresh directory that is gone with its owner, in memory where that is possible, since
// syncs cost nothing there.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace paceline {

class Scratch {
 public:
  Scratch() {
    const bool in_memory = ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent =
        in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "paceline_XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
  [[nodiscard]] std::filesystem::path database() const { return dir_ / "paceline.db"; }

 private:
  std::filesystem::path dir_;
};

}  // namespace paceline
