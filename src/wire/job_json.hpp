// A job as docs/api.md shows it: every key always, null for what is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "model/job.hpp"
#include "model/launch.hpp"
#include "model/reason.hpp"
#include "model/state.hpp"
#include "model/viewer.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// Running time left, most likely and between what bounds, and where that is known from.
struct TimeLeft {
  Duration likely{}, low{}, high{};
  std::string_view from;
};

struct JobView {
  const Job& job;
  const State& state;     // of the same moment as `job`: names its nodes
  Time now;               // sums of time run up to here
  Reason reason;          // as `viewer` may read it
  std::string command;    // as typed; empty: not known (any more)
  std::string directory;  // likewise
  Viewer viewer = Viewer::owner;
  std::optional<TimeLeft> left = {};
  ShippedDirectory shipped = {};  // as `directory` is
};

void write_job(JsonWriter& json, const JobView& view);

// Slot-seconds by cause: `{"preemption", "resize", "failure"}`.
void write_bill(JsonWriter& json, std::string_view key, const Bill& bill);
// The member "lost_slot_seconds".
void write_lost(JsonWriter& json, const Bill& lost);

// As a shell tells it: 128 + n where signal n ended it. Nothing: not over, or ended without a code.
std::optional<std::int32_t> exit_code_of(const std::optional<Ending>& ending);

}  // namespace paceline
