#include "ship/ignore_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

constexpr std::string_view kAnyParts = "**";

// Blanks at the end don't count, unless a backslash stands before them.
std::string_view without_blanks(std::string_view line) {
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

bool fits_part(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
}

// "**" at the end stands for something, elsewhere for nothing, too.
bool fits(std::span<const std::string> pattern, std::span<const std::string> path) {
  if (pattern.empty()) return path.empty();
  if (pattern.front() != kAnyParts) {
    return !path.empty() && fits_part(pattern.front(), path.front()) &&
           fits(pattern.subspan(1), path.subspan(1));
  }
  if (pattern.size() == 1) return !path.empty();
  for (std::size_t skipped = 0; skipped <= path.size(); ++skipped)
    if (fits(pattern.subspan(1), path.subspan(skipped))) return true;
  return false;
}

bool fits(const IgnoreRule& rule, std::span<const std::string> path, EntryKind entry) {
  if (path.empty() || (rule.of_directories && entry != EntryKind::directory)) return false;
  return rule.anchored ? fits(rule.parts, path) : fits_part(rule.parts.front(), path.back());
}

}  // namespace

PathParts path_parts(std::string_view path) {
  PathParts parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

std::string joined_path(const PathParts& parts) {
  std::string path;
  for (const auto& part : parts) (path += path.empty() ? "" : "/") += part;
  return path;
}

std::optional<IgnoreRule> parse_ignore_rule(std::string_view line) {
  if (line.starts_with('#')) return std::nullopt;
  line = without_blanks(line);
  IgnoreRule rule;
  if (line.starts_with('!')) {
    rule.takes_back = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.of_directories = true;
    line.remove_suffix(1);
  }
  rule.anchored = line.find('/') != std::string_view::npos;
  rule.parts = path_parts(line);
  if (rule.parts.empty()) return std::nullopt;
  return rule;
}

void IgnoreRules::enter(const PathParts& folder, std::string_view text) {
  File file{folder.size(), {}};
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (auto rule = parse_ignore_rule(text.substr(0, end))) file.rules.push_back(std::move(*rule));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  files_.push_back(std::move(file));
}

bool IgnoreRules::ignores(const PathParts& path, EntryKind entry) const {
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (file->depth >= path.size()) continue;
    const auto below = std::span(path).subspan(file->depth);
    for (auto rule = file->rules.rbegin(); rule != file->rules.rend(); ++rule)
      if (fits(*rule, below, entry)) return !rule->takes_back;
  }
  return false;
}

}  // namespace paceline
