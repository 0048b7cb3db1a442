#include "cli/job/job_file.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/nearest.hpp"
#include "cli/job/yaml.hpp"
#include "cli/words/text.hpp"
#include "cli/words/text_file.hpp"

namespace paceline {
namespace {

using Kind = YamlNode::Kind;

// Reads one file's tree; the first refusal ends it.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Result<JobWords> read(const YamlNode& root) {
    if (root.kind != Kind::map) {
      return refuse(root, fmt::format("A job file is a map of keys, not {}.", to_string(root.kind)),
                    "Write lines like 'run: python3 train.py'.");
    }
    for (const auto& entry : root.entries) {
      if (auto read = top(entry); !read) return fail(std::move(read.error()));
    }
    if (auto sized = one_size(words_); !sized) return fail_at(name_, root, sized.error());
    return std::move(words_);
  }

 private:
  Result<void> top(const YamlEntry& entry) {
    const auto& key = entry.key.text;
    if (key == "resources" || key == "mesh") return section(entry, key);
    if (key == "target" && entry.value.kind == Kind::map) return section(entry, "target");
    if (key == "target") return word(find("metric", "target"), entry);
    if (key == "run") return run(entry.value);
    if (key == "env") return env(entry.value);
    if (key == "ship" && entry.value.kind == Kind::list) return ship(entry.value);
    if (key == "notify" && entry.value.kind == Kind::map) return section(entry, key);
    if (key == "notify") return list(*find_list("to", key), entry.value);
    if (const auto* each = find_list(key, "")) return list(*each, entry.value);
    const auto* known = find(key, "");
    return known != nullptr ? word(known, entry) : unknown(entry.key, "");
  }

  Result<void> section(const YamlEntry& entry, std::string_view name) {
    if (entry.value.kind != Kind::map) return mismatch(entry, "a map of keys");
    for (const auto& inner : entry.value.entries) {
      const auto* known = find(inner.key.text, name);
      const auto* several = find_list(inner.key.text, name);
      auto read = known != nullptr     ? word(known, inner)
                  : several != nullptr ? list(*several, inner.value)
                                       : unknown(inner.key, name);
      if (!read) return read;
    }
    return {};
  }

  static const JobWord* find(std::string_view key, std::string_view section) {
    for (const auto& word : job_words()) {
      if (word.key == key && word.section == section) return &word;
    }
    return nullptr;
  }

  static const JobList* find_list(std::string_view key, std::string_view section) {
    for (const auto& list : job_lists()) {
      if (list.key == key && list.section == section) return &list;
    }
    return nullptr;
  }

  Result<void> word(const JobWord* known, const YamlEntry& entry) {
    if (entry.value.kind != Kind::word) return mismatch(entry, "a word");
    if (auto judged = known->judge(entry.value.text); !judged) {
      judged.error().message = fmt::format("{}: {}", entry.key.text, judged.error().message);
      return fail_at(name_, entry.value, judged.error());
    }
    words_.*known->field = entry.value.text;
    return {};
  }

  Result<void> run(const YamlNode& value) {
    if (value.kind == Kind::word && !value.text.empty()) {
      words_.command = {"/bin/sh", "-c", value.text};
      words_.shell = true;
      return {};
    }
    for (const auto& item : value.items) {
      if (item.kind != Kind::word) return refuse(item, "run: a command is a list of words.", "");
      words_.command.push_back(item.text);
    }
    if (!words_.command.empty()) return {};
    return refuse(value, "run: a command is missing.", "Write 'run: python3 train.py'.");
  }

  Result<void> env(const YamlNode& value) {
    if (value.kind != Kind::map) {
      return refuse(value, "env: must be a map of variables.", "Write lines like 'SEED: 1'.");
    }
    for (const auto& [key, text] : value.entries) {
      if (text.kind == Kind::list || text.kind == Kind::map) {
        return refuse(
            text,
            fmt::format("env: the value of '{}' is {}.", printable(key.text), to_string(text.kind)),
            "Quote it if it is meant as text.");
      }
      words_.env[key.text] = text.text;
    }
    return {};
  }

  // Of the job's directory these alone.
  Result<void> ship(const YamlNode& value) {
    for (const auto& item : value.items) {
      if (item.kind != Kind::word || item.text.empty())
        return refuse(item, "ship: must be true, false or a list of paths.", "");
      words_.ship_paths.push_back(item.text);
    }
    if (words_.ship_paths.empty())
      return refuse(value, "ship: the list of paths is empty.", "Write 'ship: true' for all.");
    words_.ship = "true";
    return {};
  }

  Result<void> list(const JobList& known, const YamlNode& value) {
    if (value.kind != Kind::list) return part(known, value);
    for (const auto& item : value.items) {
      if (auto read = part(known, item); !read) return read;
    }
    return {};
  }

  Result<void> part(const JobList& known, const YamlNode& value) {
    if (value.kind != Kind::word)
      return refuse(value, fmt::format("{}: must be a list of words.", known.key), "");
    auto added = known.add(value.text, words_.*known.field);
    if (added) return {};
    added.error().message = fmt::format("{}: {}", known.key, added.error().message);
    return fail_at(name_, value, added.error());
  }

  Result<void> unknown(const YamlNode& key, std::string_view section) {
    std::vector<std::string_view> known;
    for (const auto& word : job_words()) {
      if (word.section == section) known.push_back(word.key);
    }
    if (section.empty())
      known.insert(known.end(), {"run", "env", "resources", "mesh", "target", "notify"});
    for (const auto& each : job_lists()) {
      if (each.section == section) known.push_back(each.key);
    }
    const auto near = nearest(key.text, known);
    return refuse(key,
                  fmt::format("There is no key '{}'{}{}", printable(key.text),
                              section.empty() ? "" : fmt::format(" in '{}'", section),
                              near ? fmt::format("; did you mean '{}'?", *near) : "."),
                  elsewhere(key.text, section, known));
  }

  // Where a key belongs that stands in the wrong place; else which keys there are.
  static std::string elsewhere(std::string_view key, std::string_view section,
                               const std::vector<std::string_view>& known) {
    for (const auto& word : job_words()) {
      if (word.key != key || word.section == section) continue;
      return word.section.empty() ? fmt::format("'{}' stands at the top of the file.", key)
                                  : fmt::format("'{}' belongs into '{}'.", key, word.section);
    }
    return fmt::format("Keys here are {}.", listed({known.begin(), known.end()}));
  }

  Result<void> mismatch(const YamlEntry& entry, std::string_view wanted) {
    const auto found = entry.value.kind == Kind::nothing
                           ? fmt::format("'{}' has no value.", entry.key.text)
                           : fmt::format("'{}' must be {}, not {}.", entry.key.text, wanted,
                                         to_string(entry.value.kind));
    return refuse(entry.value.kind == Kind::nothing ? entry.key : entry.value, found,
                  "Give it one, or leave the key out.");
  }

  tl::unexpected<Error> refuse(const YamlNode& at, std::string message, std::string hint) {
    return fail_at(name_, at,
                   {ErrorCode::invalid, std::move(message), std::move(hint), Retry::useless});
  }

  std::string name_;
  JobWords words_;
};

}  // namespace

Result<JobWords> parse_job_file(const std::string& text, const std::string& name) {
  const auto root = parse_yaml(text, name);
  if (!root) return fail(root.error());
  return Reader(name).read(*root);
}

Result<JobWords> read_job_file(const std::string& path) {
  const bool standard_input = path == "-";
  const auto name = standard_input ? "standard input" : path;
  const auto text = read_text_file(path, kYamlBytesMax, "job file",
                                   "Name a job file with -f, or '-' for standard input.");
  if (!text) return fail(text.error());
  auto words = parse_job_file(*text, name);
  if (!words || standard_input) return words;
  const std::filesystem::path where(path);
  const bool from_home = words->workdir && words->workdir->starts_with('~');
  if (words->workdir && !from_home)
    words->workdir = (where.parent_path() / *words->workdir).string();
  if (!words->name) words->name = where.stem().string();
  return words;
}

}  // namespace paceline
