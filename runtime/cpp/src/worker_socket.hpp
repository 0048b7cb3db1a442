// The client of the worker socket, by which a worker asks Paceline.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::runtime {

// Why Paceline wants this worker to stop: "target_reached" or "notice"; empty: it is to go on. Nothing:
// no answer came within the limit, or before `ended` became readable.
std::optional<std::string> reason_to_stop(const std::string& path, std::chrono::milliseconds limit,
                                          int ended);
// What an answer to that says. Nothing: it isn't one.
std::optional<std::string> reason_in(std::string_view answer);

}  // namespace paceline::runtime
