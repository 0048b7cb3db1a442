#include "cli/top/header.hpp"

#include <fmt/format.h>

#include <array>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kUse = 10;  // columns of the bar

struct SumOfStates {
  std::string_view said;
  std::array<const char*, 4> states;
};

constexpr std::array kSums = {
    SumOfStates{"running", {"RUNNING", "STARTING", "RESIZING", "STOPPING"}},
    SumOfStates{"waiting", {"PENDING", "", "", ""}}, SumOfStates{"paused", {"PAUSED", "", "", ""}}};

// "3 running, 12 waiting"
std::string jobs_text(const Document& server) {
  std::vector<std::string> parts;
  for (const auto& [said, states] : kSums) {
    std::int64_t count = 0;
    for (const auto* state : states) count += whole_of(member(server, "jobs"), state);
    if (count > 0 || said != "paused")
      parts.push_back(fmt::format("{} {}", human_count(static_cast<std::uint64_t>(count)), said));
  }
  return fmt::format("{}, {}{}", parts[0], parts[1], parts.size() > 2 ? ", " + parts[2] : "");
}

std::string server_text(const Document& server) {
  return fmt::format("Paceline {}  {}  policy {}", text_of(server, "version"),
                     text_of(server, "dir"), text_of(server, "policy"));
}

std::string use_text(const Document& server) {
  const auto slots = whole_of(server, "slots"), leased = whole_of(server, "slots_leased");
  const auto ratio = slots > 0 ? static_cast<double>(leased) / static_cast<double>(slots) : 0;
  return fmt::format("Slots {} of {} used {}   Jobs {}", leased, slots, bar(ratio, kUse),
                     jobs_text(server));
}

struct Freshness {
  std::string text;
  Style style = Style::plain;
};

// The old picture says that it is old.
Freshness freshness(const Paper& paper, const Cluster& cluster, bool stands) {
  const auto at = cluster.at();
  if (const auto& away = cluster.away()) {
    const auto since = human_time(away->since, paper.now);
    return {at ? fmt::format("no answer since {}: old picture", since)
               : fmt::format("no answer since {}", since),
            Style::red};
  }
  if (stands && at) return {"stands still at " + human_time(*at, paper.now), Style::yellow};
  return {};
}

}  // namespace

Rows draw_header(const Paper& paper, const Cluster& cluster, bool stands) {
  const auto width = paper.size.columns;
  const auto& server = cluster.server();
  const auto first = fitted(cluster.at() ? printable(server_text(server)) : "Paceline",
                            human_time(paper.now, paper.now), width);
  const auto fresh = freshness(paper, cluster, stands);
  const auto second =
      fitted(cluster.at() ? printable(use_text(server)) : "Asking the server…", fresh.text, width);
  return {paper.paint(first.left, Style::bold) + first.right,
          second.left + paper.paint(second.right, fresh.style)};
}

}  // namespace paceline
