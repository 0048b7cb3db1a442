// The client of the worker socket, by which a worker asks Paceline, and tells it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::runtime {

// Why Paceline wants this worker to stop: "target_reached" or "notice"; empty: it is to go on. Nothing:
// no answer came within the limit, or before `ended` became readable.
std::optional<std::string> reason_to_stop(const std::string& path, std::chrono::milliseconds limit,
                                          int ended);
// All ranks of that generation have met. Waits for an answer, within the limit; none is needed.
void say_met(const std::string& path, std::uint64_t generation, std::chrono::milliseconds limit);
// What an answer to the question says. Nothing: it isn't one.
std::optional<std::string> reason_in(std::string_view answer);

}  // namespace paceline::runtime
