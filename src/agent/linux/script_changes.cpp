#include "agent/linux/script_changes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "agent/linux/log_file.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kScriptEndings[] = {".py", ".sh", ".jl", ".R", ".lua"};
constexpr std::size_t kScriptsMax = 16;  // each is a call to a file system that may be slow
constexpr Duration kClocksDiffer = std::chrono::seconds{2};

bool names_script(const std::string& word) {
  return std::ranges::any_of(kScriptEndings,
                             [&](std::string_view ending) { return word.ends_with(ending); });
}

std::vector<std::string> scripts_of(const std::vector<std::string>& command, bool shell) {
  std::vector<std::string> words = command;
  if (shell) {
    std::istringstream text(command.back());
    words.clear();
    for (std::string word; text >> word;) words.push_back(word);
  }
  const bool path = !words.empty() && words[0].find('/') != std::string::npos;
  const auto others =
      std::remove_if(words.begin() + (path ? 1 : 0), words.end(), std::not_fn(names_script));
  words.erase(others, words.end());
  if (words.size() > kScriptsMax) words.resize(kScriptsMax);
  return words;
}

}  // namespace

std::optional<ScriptChange> script_change(const std::vector<std::string>& command, bool shell,
                                          WallTime since) {
  std::optional<ScriptChange> last;
  for (const std::string& path : scripts_of(command, shell)) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const WallTime at =
        wall_from_us(info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1'000);
    if (at > since + kClocksDiffer && (!last || at > last->at)) last = ScriptChange{path, at};
  }
  return last;
}

std::string sentence(const ScriptChange& change, WallTime submitted) {
  return fmt::format("{} was changed at {}, after the job was submitted ({}): it runs as it is now",
                     change.path, utc(change.at), utc(submitted));
}

}  // namespace paceline::agent
