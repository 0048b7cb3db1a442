// The lines between an agent and a supervisor: whatever is understood reads the same when it is said
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/linux/control.hpp"
#include "base/check.hpp"

namespace {

using namespace paceline;
using namespace paceline::agent;

std::string_view without_newline(const std::string& line) {
  return std::string_view(line).substr(0, line.size() - 1);
}

void try_line(std::string_view line) {
  if (const auto command = parse_command(line))
    check(parse_command(without_newline(to_line(*command))).has_value(), "a command can be said");
  if (const auto pid = parse_running_line(line)) {
    check(*pid > 0, "a process has a number");
    check(parse_running_line(without_newline(running_line(*pid))) == pid, "and keeps it");
  }
  const auto ending = parse_ended_line(line);
  if (!ending) return;
  const std::string said = ended_line(*ending);
  const auto again = parse_ended_line(without_newline(said));
  check(again && to_text(*again) == to_text(*ending), "an ending can be told");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    try_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
