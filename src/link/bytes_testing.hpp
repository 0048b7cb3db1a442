// What tests of this room share: a node's logs, and the server's. For tests only.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "files/fd.hpp"
#include "files/log_names.hpp"
#include "files/temp_folder_testing.hpp"
#include "link/bytes_lines.hpp"

namespace paceline {

inline const LogName kLog{JobId{7}, 0};

// DIR/logs of a node or of the server.
class TestLogs {
 public:
  [[nodiscard]] const std::filesystem::path& directory() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path path_of(const LogName& log) const {
    return folder_.path() / "logs" / fmt::format("{}", log.job.value) / log_name(log.number);
  }
  void append(const LogName& log, std::string_view text) const {
    std::filesystem::create_directories(path_of(log).parent_path());
    std::ofstream(path_of(log), std::ios::binary | std::ios::app) << text;
  }
  [[nodiscard]] std::string text_of(const LogName& log) const {
    std::ifstream file(path_of(log), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Removes bytes as a log's limit does.
  void punch(const LogName& log, off_t begin, off_t size) const {
    const UniqueFd fd(::open(path_of(log).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, size), 0);
  }

 private:
  TempFolder folder_;
};

// Numbered lines, so that nothing can be doubled or lost without notice.
inline std::string numbered_lines(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += fmt::format("line {}\n", i);
  return text;
}

}  // namespace paceline
