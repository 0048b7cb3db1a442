// YAML as a small bounded tree with places. Enough for files that people write: maps, lists and
// words. Anchors and aliases are refused, so no file grows beyond its bytes.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace paceline {

struct YamlEntry;

struct YamlNode {
  enum class Kind { nothing, word, list, map };

  Kind kind = Kind::nothing;
  int line = 1;
  int column = 1;
  std::string text;                // of a word
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in order
};

struct YamlEntry {
  YamlNode key;  // a word
  YamlNode value;
};

inline constexpr std::size_t kYamlDepthMax = 16;
inline constexpr std::size_t kYamlBytesMax = 1 << 20;

// The one document in `text`. Errors: invalid, "job.yaml:3:8: …"; too_large.
Result<YamlNode> parse_yaml(const std::string& text, const std::string& name);

// "a word", "a list", …
std::string_view to_string(YamlNode::Kind kind);

// An error with the place in front of its message: "job.yaml:3:8: …".
tl::unexpected<Error> fail_at(const std::string& name, const YamlNode& node, const Error& error);

}  // namespace paceline
