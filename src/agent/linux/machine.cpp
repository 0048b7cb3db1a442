#include "agent/linux/machine.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "agent/linux/files.hpp"
#include "files/random_name.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kDigits = 32;

bool is_identity(std::string_view text) {
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool has_claims(const std::string& directory) {
  return !list_directory(directory + "/workers").empty() ||
         !list_directory(directory + "/damaged").empty();
}

}  // namespace

std::string identify_machine(const std::string& directory) {
  const std::string file = directory + "/machine";
  if (const auto known = read_file(file)) return is_identity(*known) ? *known : std::string();
  // One that can't be read now stays what it is.
  if (errno != ENOENT || has_claims(directory)) return {};
  const std::string drawn = random_name();
  return replace_file(AT_FDCWD, file.c_str(), drawn) ? drawn : std::string();
}

}  // namespace paceline::agent
