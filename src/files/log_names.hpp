// What lies in a job's folder of logs, DIR/logs/<job>: of each process its log and its timeline
// (what it told of where its time went), and notes beside both. A file is known by a number: a log
// by its process's, a timeline by timeline_of() of it. So both are sent, taken, read and removed
// alike.
//
//   log_name(3) == "rank3.log"      log_name(timeline_of(3)) == "rank3.timeline"
//   beside_log(".../rank3.log", "times") == ".../rank3.times"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

enum class LogKind { log, timeline };

// REQUIRES: the number of a process, below 2^30.
constexpr std::int32_t timeline_of(std::int32_t process) { return process | (1 << 30); }
constexpr bool is_timeline(std::int32_t number) { return (number & (1 << 30)) != 0; }
constexpr std::int32_t process_of(std::int32_t number) { return number & ~(1 << 30); }
constexpr std::int32_t log_number(std::int32_t process, LogKind kind) {
  return kind == LogKind::timeline ? timeline_of(process) : process;
}

std::string log_name(std::int32_t number);
// Nothing: it is neither.
std::optional<std::int32_t> log_number_in(std::string_view name);
// The file of notes beside one of them. `kind`: "times", "sources".
std::string beside_log(std::string_view log, std::string_view kind);
// The timeline beside a log.
std::string timeline_beside(std::string_view log);

}  // namespace paceline
