// The client of the worker socket, by which a worker asks Paceline, and tells it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::runtime {

// Why Paceline wants this worker to stop: "target_reached" or "notice"; empty: it is to go on. Nothing:
// no answer came within the limit, or before `ended` became readable.
std::optional<std::string> reason_to_stop(const std::string& path, std::chrono::milliseconds limit,
                                          int ended);
// What an answer to the question says. Nothing: it isn't one.
std::optional<std::string> reason_in(std::string_view answer);

// What becomes of this worker in its gang's next generation: its place there, in torchrun's names; none
// where it leaves.
struct Next {
  std::uint64_t generation = 0;
  std::optional<std::map<std::string, std::string>> environment;
};
// `ready`, `stands`: what is known there of what this worker said; 0: nothing.
struct GangNews {
  std::uint64_t version = 0, ready = 0, stands = 0;
  std::optional<Next> next;
};
// Waits for a version other than `after`, for some seconds. Nothing: as above.
std::optional<GangNews> gang_news(const std::string& path, std::uint64_t after,
                                  std::chrono::milliseconds limit, int ended);
std::optional<GangNews> gang_news_in(std::string_view answer);
// `what`: "met", "ready" or "stands", as docs/api.md has it. Waits for an answer, within the limit;
// none is needed.
void say_of_gang(const std::string& path, const std::string& what, std::uint64_t generation,
                 std::chrono::milliseconds limit);

}  // namespace paceline::runtime
