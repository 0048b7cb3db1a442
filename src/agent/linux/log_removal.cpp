#include "agent/linux/log_removal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "agent/linux/files.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseEntries {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool remove_file(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return true;
  return errno == EISDIR && ::unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

}  // namespace

Result<bool> remove_logs(const std::string& server_directory, JobId job, std::size_t files) {
  const std::string name = fmt::format("{}", job.value);
  const std::string path = fmt::format("{}/logs/{}", server_directory, name);
  const auto failed = [&] {
    return fail(system_error("The logs in '" + path + "' can't be removed", errno));
  };
  const UniqueFd logs(::open((server_directory + "/logs").c_str(), kDirectory));
  if (!logs) return errno == ENOENT ? Result<bool>(true) : failed();
  UniqueFd folder(::openat(logs.get(), name.c_str(), kDirectory));
  if (!folder) return errno == ENOENT ? Result<bool>(true) : failed();
  const std::unique_ptr<DIR, CloseEntries> entries(::fdopendir(folder.get()));
  if (!entries) return failed();
  const int inside = folder.release();  // the directory stream's now
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view each = entry->d_name;
    if (each == "." || each == "..") continue;
    if (files-- == 0) return false;
    if (!remove_file(inside, entry->d_name)) return failed();
  }
  if (::unlinkat(logs.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return failed();
  return true;
}

}  // namespace paceline::agent
