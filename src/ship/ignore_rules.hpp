// Which files stay behind when a directory travels: patterns as git takes them from .gitignore (its manual,
// gitignore(5), is the reference). Pure: reads no files.
//
//   IgnoreRules rules;
//   rules.enter({}, "*.ckpt\n/data/\n");              // the ignore file of the top folder
//   rules.ignores({"runs", "a.ckpt"}, EntryKind::file);   // true
//
// Whose folder is ignored need not be asked for: git never looks into it, and neither may the caller.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// The parts of a path between its slashes, from the top.
using PathParts = std::vector<std::string>;

PathParts path_parts(std::string_view path);
std::string joined_path(const PathParts& parts);

struct IgnoreRule {
  PathParts parts;              // each a pattern of fnmatch(3), or "**"
  bool anchored = false;        // from its file's folder on; else it is of one part, for any name
  bool of_directories = false;  // it ended in a slash
  bool takes_back = false;      // it began with '!'
  friend bool operator==(const IgnoreRule&, const IgnoreRule&) = default;
};

// Of one line. Nothing: it is empty or a comment.
std::optional<IgnoreRule> parse_ignore_rule(std::string_view line);

enum class EntryKind { file, directory };

class IgnoreRules {
 public:
  // The patterns of an ignore file in `folder`. Those entered later go before.
  void enter(const PathParts& folder, std::string_view text);
  // How many files' patterns count; and only the first so many again.
  [[nodiscard]] std::size_t size() const { return files_.size(); }
  void leave(std::size_t size) { files_.resize(size); }

  // The last pattern that fits decides.
  [[nodiscard]] bool ignores(const PathParts& path, EntryKind entry) const;

 private:
  struct File {
    std::size_t depth = 0;  // of its folder
    std::vector<IgnoreRule> rules;
  };
  std::vector<File> files_;
};

}  // namespace paceline
