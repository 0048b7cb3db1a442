#include "agent/linux/footprint.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace paceline::agent {
namespace {

// Kibibytes of this process's code in memory.
long resident_code() {
  std::ifstream maps("/proc/self/smaps");
  long sum = 0;
  bool code = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first.find('-') != std::string::npos) code = second == "r-xp";
    if (code && first == "Rss:") sum += std::stol(second);
  }
  return sum;
}

TEST(Footprint, CodeOfTheStartIsGivenBackAndRunsAgain) {
  const long before = resident_code();
  forget_start_code();
  EXPECT_LT(resident_code(), before);
  std::ostringstream text;
  text << 1.5;
  EXPECT_EQ(text.str(), "1.5");
}

}  // namespace
}  // namespace paceline::agent
