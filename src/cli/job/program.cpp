#include "cli/job/program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace paceline {
namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_executable(const std::string& path) {
  return is_file(path) && ::access(path.c_str(), X_OK) == 0;
}

std::string under(const std::string& directory, std::string_view path) {
  return (std::filesystem::path(directory) / path).string();
}

Result<void> find_by_path(const ProgramQuery& query) {
  const auto path = under(query.directory, query.name);
  if (is_executable(path)) return {};
  if (is_file(path)) {
    return fail(ErrorCode::not_found, fmt::format("'{}' may not be executed.", query.name),
                fmt::format("Allow it with 'chmod +x {}', or name its interpreter.", query.name));
  }
  return fail(ErrorCode::not_found, fmt::format("There is no program '{}'.", query.name),
              fmt::format("A relative path is relative to {}.", query.directory));
}

}  // namespace

Result<void> find_program(const ProgramQuery& query) {
  if (query.name.find('/') != std::string::npos) return find_by_path(query);
  constexpr std::string_view kUsualPath = "/bin:/usr/bin";
  std::string_view rest = query.path.empty() ? kUsualPath : query.path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    if (is_executable(under(under(query.directory, rest.substr(0, colon)), query.name))) return {};
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  const bool here = is_file(under(query.directory, query.name));
  return fail(ErrorCode::not_found, fmt::format("There is no program '{}' in PATH.", query.name),
              here ? fmt::format("To run the file in the job's directory write ./{}.", query.name)
                   : "Check its spelling, or give its path.");
}

}  // namespace paceline
