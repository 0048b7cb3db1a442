// Runs tests/scenario/**/*.txt. A scenario is lines of the language of scenario/script.hpp under a
// first line that says in one sentence what it shows; indented lines are what the line above them
// must answer.
//
// PACELINE_WRITE_SCENARIOS=1 writes the answers into the files instead: read what `git diff` shows
// before you believe it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scenario/script.hpp"

namespace paceline::testing {
namespace {

const std::filesystem::path kFolder = "tests/scenario";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string title_of(const std::filesystem::path& file) {
  const auto text = text_of(file);
  return text.substr(0, text.find('\n'));
}

std::vector<std::filesystem::path> scenarios() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The scenario as it is with every answer replaced by the one given now.
std::string played(const std::string& text) {
  Script script;
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.starts_with("  ")) continue;
    out += line + "\n";
    if (line.empty() || line.starts_with("#")) continue;
    for (const auto& answer : script.run(line)) out += "  " + answer + "\n";
  }
  return out;
}

class Scenario : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Scenario, GoesAsWritten) {
  const auto text = text_of(GetParam());
  ASSERT_TRUE(text.starts_with("# ")) << "the first line says what the scenario shows";
  SCOPED_TRACE(title_of(GetParam()));
  const auto now = played(text);
  if (std::getenv("PACELINE_WRITE_SCENARIOS"))
    std::ofstream(GetParam()) << now;
  else
    EXPECT_EQ(now, text) << "in " << GetParam();
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name;
  for (const char c : std::filesystem::relative(info.param, kFolder).replace_extension().string()) {
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Text, Scenario, ::testing::ValuesIn(scenarios()), name_of);

}  // namespace
}  // namespace paceline::testing
