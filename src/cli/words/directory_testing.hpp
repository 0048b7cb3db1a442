// For tests: a fresh directory, removed at the end.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace paceline {

class TestDirectory {
 public:
  TestDirectory() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  ~TestDirectory() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::string path_ = ::testing::TempDir() + "paceline_cli_XXXXXX";
};

}  // namespace paceline
