#include "cli/job/yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>

#include "base/utf8.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::string_view kBrokenHint =
    "Mend the file there; strings with ':' or '#' need quotes.";

// Stops yaml-cpp from the inside.
struct Refusal {
  YAML::Mark mark;
  std::string message;
};

// Builds the tree from yaml-cpp's events. Each open collection is a frame; a map's frame holds its
// key until the value comes.
class TreeBuilder : public YAML::EventHandler {
 public:
  [[nodiscard]] YamlNode take() { return std::move(root_); }
  [[nodiscard]] bool empty() const { return !done_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (done_) throw Refusal{mark, "A second document starts here; a job file has one."};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(node(mark, anchor, YamlNode::Kind::nothing));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refusal{mark, "Aliases are not used in job files."};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos) throw Refusal{mark, "A text holds no NUL."};
    auto word = node(mark, anchor, YamlNode::Kind::word);
    word.text = value;
    add(std::move(word));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YamlNode node;
    std::optional<YamlNode> key;
  };

  static YamlNode node(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (anchor != 0) throw Refusal{mark, "Anchors are not used in job files."};
    YamlNode made;
    made.kind = kind;
    made.line = mark.line + 1;
    made.column = mark.column + 1;
    return made;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (frames_.size() >= kYamlDepthMax) throw Refusal{mark, "This is nested too deeply."};
    frames_.push_back({node(mark, anchor, kind), {}});
  }
  void close() {
    auto whole = std::move(frames_.back().node);
    frames_.pop_back();
    add(std::move(whole));
  }
  void add(YamlNode value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      done_ = true;
      return;
    }
    auto& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::list) {
      frame.node.items.push_back(std::move(value));
    } else if (frame.key) {
      frame.node.entries.push_back({std::move(*frame.key), std::move(value)});
      frame.key.reset();
    } else {
      take_key(frame, std::move(value));
    }
  }
  static void take_key(Frame& frame, YamlNode key) {
    const YAML::Mark mark = mark_of(key);
    if (key.kind != YamlNode::Kind::word) throw Refusal{mark, "A key must be a word."};
    for (const auto& entry : frame.node.entries) {
      if (entry.key.text == key.text) {
        throw Refusal{mark, fmt::format("'{}' stands here twice.", printable(key.text))};
      }
    }
    frame.key = std::move(key);
  }
  static YAML::Mark mark_of(const YamlNode& node) {
    YAML::Mark mark;
    mark.line = node.line - 1;
    mark.column = node.column - 1;
    return mark;
  }

  std::vector<Frame> frames_;
  YamlNode root_;
  bool done_ = false;
};

tl::unexpected<Error> refuse(const std::string& name, const YAML::Mark& mark, std::string message) {
  YamlNode node;
  node.line = mark.line + 1;
  node.column = mark.column + 1;
  return fail_at(
      name, node,
      {ErrorCode::invalid, std::move(message), std::string(kBrokenHint), Retry::useless});
}

std::string sentence(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(text.front()));
  return text + ".";
}

}  // namespace

Result<YamlNode> parse_yaml(const std::string& text, const std::string& name) {
  if (text.size() > kYamlBytesMax) {
    return fail(ErrorCode::too_large, fmt::format("{} is larger than 1 MiB.", name),
                "A job file describes one job; name it with -f.");
  }
  if (!is_utf8(text)) {
    return fail(ErrorCode::invalid, fmt::format("{} is not UTF-8 text.", name),
                "Save it as UTF-8.");
  }
  if (text.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid, fmt::format("{} holds a NUL, which is no text.", name),
                "Save it as UTF-8 text.");
  }
  TreeBuilder tree;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(tree)) {
    }
  } catch (const Refusal& refusal) {
    return refuse(name, refusal.mark, refusal.message);
  } catch (const YAML::Exception& error) {
    return refuse(name, error.mark, sentence(error.msg));
  } catch (const std::exception& error) {
    return refuse(name, {}, sentence(error.what()));
  }
  if (tree.empty()) {
    return fail(ErrorCode::invalid, fmt::format("{} is empty.", name),
                "Write at least 'run: COMMAND'.");
  }
  return tree.take();
}

std::string_view to_string(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::word:
      return "a word";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "nothing";
}

tl::unexpected<Error> fail_at(const std::string& name, const YamlNode& node, const Error& error) {
  Error placed = error;
  placed.message = fmt::format("{}:{}:{}: {}", name, node.line, node.column, error.message);
  return fail(std::move(placed));
}

}  // namespace paceline
