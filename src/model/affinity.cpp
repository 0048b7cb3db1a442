#include "model/affinity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace paceline {
namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

constexpr std::array kUnits = {Unit{"s", std::chrono::seconds{1}},
                               Unit{"m", std::chrono::minutes{1}}, Unit{"h", std::chrono::hours{1}},
                               Unit{"d", std::chrono::hours{24}}};

tl::unexpected<Error> unreadable(std::string_view text) {
  return fail(ErrorCode::invalid, fmt::format("'{}' is no affinity.", text),
              "Write label:KEY=VALUE, label:KEY, job:NAME or self, after a job or self :node, "
              ":rack or :switch, and ~10m at the end if it may be given up after 10 minutes.");
}

std::pair<std::string_view, std::optional<std::string_view>> cut(std::string_view text, char at) {
  const auto found = text.find(at);
  if (found == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, found), text.substr(found + 1)};
}

std::optional<Duration> read_span(std::string_view text) {
  if (text.empty()) return Duration::zero();
  std::int64_t count = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (wrong != std::errc{} || count < 0 || count > 1'000'000) return std::nullopt;
  const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return count * unit.length;
  }
  return std::nullopt;
}

std::string span_text(Duration span) {
  if (span == Duration::zero()) return "";
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    if (span % unit->length == Duration::zero())
      return fmt::format("{}{}", span / unit->length, unit->name);
  }
  return fmt::format("{}s", span / std::chrono::seconds{1});
}

std::optional<Reach> read_reach(std::string_view text) {
  for (const Reach reach : {Reach::node, Reach::rack, Reach::network_switch}) {
    if (to_string(reach) == text) return reach;
  }
  return std::nullopt;
}

bool read_label(std::string_view text, Affinity& into) {
  const auto [name, value] = cut(text, '=');
  into.to = AffinityTo::label;
  into.name = name;
  into.value = value.value_or("");
  return !name.empty() && !(value && value->empty());
}

bool read_workers(std::string_view text, Affinity& into) {
  const auto last = text.rfind(':');
  if (last != std::string_view::npos) {
    const auto reach = read_reach(text.substr(last + 1));
    if (!reach) return false;
    into.reach = *reach;
    text = text.substr(0, last);
  }
  into.name = text;
  return text.find(':') == std::string_view::npos;
}

}  // namespace

std::string_view to_string(AffinityTo to) {
  switch (to) {
    case AffinityTo::label:
      return "label";
    case AffinityTo::job:
      return "job";
    case AffinityTo::self:
      return "self";
  }
  return "label";
}

std::string_view to_string(Reach reach) {
  switch (reach) {
    case Reach::node:
      return "node";
    case Reach::rack:
      return "rack";
    case Reach::network_switch:
      return "switch";
  }
  return "node";
}

Result<Affinity> parse_affinity(std::string_view text, bool anti) {
  Affinity affinity;
  affinity.anti = anti;
  const auto [term, patience] = cut(text, '~');
  if (patience) {
    affinity.give_up_after = read_span(*patience);
    if (!affinity.give_up_after) return unreadable(text);
  }
  bool read = false;
  if (term.starts_with("label:")) {
    read = read_label(term.substr(6), affinity);
  } else if (term.starts_with("job:")) {
    affinity.to = AffinityTo::job;
    read = read_workers(term.substr(4), affinity) && !affinity.name.empty();
  } else if (term == "self" || term.starts_with("self:")) {
    affinity.to = AffinityTo::self;
    read = read_workers(term, affinity) && affinity.name == "self";
    affinity.name.clear();
  }
  if (!read) return unreadable(text);
  return affinity;
}

std::string to_string(const Affinity& affinity) {
  std::string text;
  if (affinity.to == AffinityTo::label) {
    text = "label:" + affinity.name;
    if (!affinity.value.empty()) text += "=" + affinity.value;
  } else {
    text = affinity.to == AffinityTo::self ? "self" : "job:" + affinity.name;
    if (affinity.reach != Reach::node) text += fmt::format(":{}", to_string(affinity.reach));
  }
  if (affinity.give_up_after) text += "~" + span_text(*affinity.give_up_after);
  return text;
}

bool name_matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace paceline
