#include "app/messages_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "cli/job/yaml.hpp"
#include "cli/words/text_file.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

using Kind = YamlNode::Kind;
constexpr std::size_t kHooksMax = 32;

Result<void> refused(std::string message, std::string hint) {
  return fail(ErrorCode::invalid, std::move(message), std::move(hint));
}

// "smtp://relay.lab.example:587", "relay.lab.example:25": what a configuration file of curl may hold.
Result<std::string> parse_relay(const std::string& text) {
  const bool has_scheme = text.starts_with("smtp://") || text.starts_with("smtps://");
  auto url = has_scheme ? text : "smtp://" + text;
  const auto host = std::string_view(url).substr(url.find("://") + 3);
  const bool good = !host.empty() && host.find_first_not_of(
                                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789.-:[]") == std::string_view::npos;
  if (good && text.find("://") == (has_scheme ? text.find(':') : std::string::npos)) return url;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no mail relay.", printable(text)),
              "Write smtp://relay.lab.example:587, or smtps://relay.lab.example.");
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Result<MessagesFile> read(const YamlNode& root) {
    if (root.kind != Kind::map)
      return fail_at(name_, root,
                     {ErrorCode::invalid, "The file is a map of keys.",
                      "Write lines like 'mail: {relay: …, from: …}'.", Retry::useless});
    const auto done = each(root, "the file",
                           {{"mail", [&](const YamlNode& node) { return mail(node); }},
                            {"webhooks", [&](const YamlNode& node) { return hooks(node); }},
                            {"proxy", [&](const YamlNode& node) { return proxy(node); }},
                            {"ca_file", word(file_.wires.ca_file)},
                            {"retry_after", span(file_.retry_first)},
                            {"give_up_after", span(file_.give_up_after)}});
    if (!done) return fail(done.error());
    return std::move(file_);
  }

 private:
  using Take = std::function<Result<void>(const YamlNode&)>;
  using Keys = std::vector<std::pair<std::string_view, Take>>;

  Result<void> at(const YamlNode& node, const Error& error) { return fail_at(name_, node, error); }

  // Hands each value to its key's reader.
  Result<void> each(const YamlNode& map, std::string_view what, const Keys& keys) {
    if (map.kind != Kind::map)
      return at(map, refused(fmt::format("{} must be a map of keys.", what), "").error());
    for (const auto& [key, value] : map.entries) {
      const auto known = std::ranges::find(keys, key.text, &Keys::value_type::first);
      if (known == keys.end()) return at(key, unknown(key.text, keys));
      if (auto taken = known->second(value); !taken) return taken;
    }
    return {};
  }

  static Error unknown(const std::string& key, const Keys& keys) {
    std::vector<std::string_view> names;
    for (const auto& [name, take] : keys) names.push_back(name);
    const auto near = nearest(key, names);
    std::string all;
    for (const auto name : names) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
    return {ErrorCode::invalid,
            fmt::format("There is no key '{}'{}", printable(key),
                        near ? fmt::format("; did you mean '{}'?", *near) : "."),
            fmt::format("Keys here are {}.", all), Retry::useless};
  }

  // A word of one line.
  Take word(std::string& into) {
    return [this, &into](const YamlNode& node) -> Result<void> {
      if (node.kind != Kind::word || node.text.empty() || !is_visible(node.text))
        return at(node, refused("This must be one line of text.", "Quote it.").error());
      into = node.text;
      return {};
    };
  }

  template <class Into, class Parse>
  Take parsed(Into& into, Parse parse) {
    return [this, &into, parse](const YamlNode& node) -> Result<void> {
      auto value = parse(node.text);
      if (node.kind != Kind::word) return at(node, refused("This must be a word.", "").error());
      if (!value) return at(node, value.error());
      into = std::move(*value);
      return {};
    };
  }

  Take span(Duration& into) {
    return parsed(into, [](const std::string& text) { return parse_duration(text); });
  }

  // A list, or one word.
  template <class Add>
  Take words(Add add) {
    return [this, add](const YamlNode& node) -> Result<void> {
      const auto one = [&](const YamlNode& item) -> Result<void> {
        if (item.kind != Kind::word)
          return at(item, refused("This must be a list of words.", "").error());
        if (auto added = add(item.text); !added) return at(item, added.error());
        return {};
      };
      if (node.kind != Kind::list) return one(node);
      for (const auto& item : node.items)
        if (auto added = one(item); !added) return added;
      return {};
    };
  }

  Result<void> mail(const YamlNode& node) {
    MailRelay relay;
    const auto flag = [](const std::string& text) -> Result<bool> {
      if (text == "true" || text == "false") return text == "true";
      return fail(ErrorCode::invalid, "Write true or false.");
    };
    const auto from = [](const std::string& text) -> Result<std::string> {
      auto address = parse_address(text);
      if (address && is_mail(*address)) return address->substr(7);
      return fail(ErrorCode::invalid, "'from' is no mail address.", "Write paceline@lab.example.");
    };
    if (auto done = each(node, "'mail'",
                         {{"relay", parsed(relay.url, parse_relay)},
                          {"from", parsed(relay.from, from)},
                          {"starttls", parsed(relay.starttls, flag)},
                          {"login", word(relay.login)}});
        !done)
      return done;
    if (relay.url.empty() || relay.from.empty())
      return at(node, refused("'mail' needs a relay and an address that mails are from.",
                              "Write 'relay:' and 'from:'.")
                          .error());
    if (relay.url.starts_with("smtps://"))
      relay.starttls = false;  // it is encrypted from the start
    file_.wires.relay = std::move(relay);
    return {};
  }

  Result<void> hooks(const YamlNode& node) {
    if (node.kind != Kind::list || node.items.size() > kHooksMax)
      return at(node, refused(fmt::format("'webhooks' must be a list of at most {}.", kHooksMax),
                              "Write '- to: https://…' for each.")
                          .error());
    for (const auto& item : node.items)
      if (auto read = hook(item); !read) return read;
    return {};
  }

  Result<void> hook(const YamlNode& node) {
    OperatorHook hook;
    MessageKinds on;
    const auto to = [](const std::string& text) -> Result<std::string> {
      auto address = parse_address(text);
      if (address && !is_mail(*address)) return address;
      return fail(ErrorCode::invalid, "That is no web hook.",
                  "Write https://hooks.lab.example/ID.");
    };
    const auto kind = [&](const std::string& text) -> Result<void> {
      if (text == "all") {
        on.insert(kMessageKinds.begin(), kMessageKinds.end());
        return {};
      }
      const auto parsed = parse_message_kind(text);
      if (!parsed) return fail(parsed.error());
      on.insert(*parsed);
      return {};
    };
    const auto user = [&](const std::string& text) -> Result<void> {
      hook.users.insert(text);
      return {};
    };
    if (auto done =
            each(node, "A web hook",
                 {{"to", parsed(hook.to, to)}, {"on", words(kind)}, {"users", words(user)}});
        !done)
      return done;
    if (hook.to.empty()) return at(node, refused("A web hook needs 'to'.", "").error());
    if (!on.empty()) hook.on = std::move(on);
    file_.hooks.push_back(std::move(hook));
    return {};
  }

  Result<void> proxy(const YamlNode& node) {
    if (auto taken = word(file_.wires.proxy)(node); !taken) return taken;
    if (const auto address = parse_address(file_.wires.proxy); !address || is_mail(*address))
      return at(node, refused("That is no proxy.", "Write http://proxy.lab.example:3128.").error());
    return {};
  }

  std::string name_;
  MessagesFile file_;
};

}  // namespace

Result<MessagesFile> parse_messages_file(const std::string& text, const std::string& name) {
  const auto root = parse_yaml(text, name);
  if (!root) return fail(root.error());
  return Reader(name).read(*root);
}

Result<MessagesFile> read_messages_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && (found.st_mode & 077U) != 0) {
    return fail(ErrorCode::invalid,
                fmt::format("Others may read '{}', and it says where people are told.", path),
                fmt::format("Make it private: chmod 600 {}", path));
  }
  const auto text = read_text_file(path, kYamlBytesMax, "file of messages",
                                   "Name one with --messages (docs/operations.md).");
  if (!text) return fail(text.error());
  return parse_messages_file(*text, path);
}

}  // namespace paceline
