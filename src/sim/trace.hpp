// A trace: the jobs that somebody's cluster was given, in the order of its file. What a format does
// not know stays at its default.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "model/node.hpp"

namespace paceline::sim {

struct TraceJob {
  std::string name;         // as in the trace; where it has none, the number of its line
  Time submitted;           // of dated traces in UTC, of others since 1970-01-01
  Duration duration{};      // of its run with all its slots
  std::int32_t slots = 0;   // asked for, of the whole gang
  std::string user;         // or tenant, virtual cluster, group: whoever the trace bills
  std::string application;  // what it trains, where the trace says so: the name of a profile
  std::vector<std::string> models;  // device models it may run on; empty: any
  std::int64_t batch_size = 0;      // over all slots; 0: unknown
  std::int64_t steps = 0;           // of its whole training; 0: unknown
  std::int64_t line = 0;            // in its file, from 1; of a journal the job's id
  // Everything it asked for, where the trace knows that: its sizes, places, priority. `slots` are
  // those of the wanted size, and `after` names lines of this trace. nullptr: one size, no other
  // wish.
  std::shared_ptr<const JobSpec> spec;
};

// Lines that are no job to run are counted, never silently dropped.
struct Trace {
  std::string format;  // the word of --format
  std::vector<TraceJob> jobs;
  // If not, every duration is zero and follows from what the job trains: a profile of its
  // application, its slots, its batch or its steps. Then no_duration counts nothing.
  bool has_durations = true;
  std::size_t no_slots = 0;     // asked for none
  std::size_t no_duration = 0;  // ran for no time, or never
  std::size_t bad_lines = 0;    // skipped because that was asked for
  // Jobs that are as long as they ran: ended before they were done, and not over yet.
  std::size_t cut_short = 0, not_over = 0;
  std::vector<NodeSpec> nodes;  // that it ran on, where it says so
  // What jobs paused there before they trained again, on average: where they were started anew, and
  // where they were resized. Nothing: it does not say so.
  std::optional<Duration> restart_pause, resize_pause;
};

}  // namespace paceline::sim
