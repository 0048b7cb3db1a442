// A job file: what is refused is refused in a sentence that begins with where.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.hpp"
#include "cli/job/job_file.hpp"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto words = parse_job_file(text, "job.yaml");
  if (!words) {
    check(words.error().message.starts_with("job.yaml"), "an error names the file");
    return 0;
  }
  for (const auto& word : words->command)
    check(word.find('\0') == std::string::npos, "a command holds no NUL");
  return 0;
}
