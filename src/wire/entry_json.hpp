// The entries of the journal as JSON: what the store keeps and what GET /v1/events serves, one
// object per entry.
//
//   {"seq":12,"at":1763636100.0,"kind":"worker_started","job":7,"generation":3,"rank":0,"pid":4711}
//
// Keys stand in a fixed order; false and empty values are left out; times are seconds, exact to the
// microsecond, and doubles are exact to the bit: read_entry(entry_text(e)) == e, provided its
// strings are UTF-8 (what is not becomes U+FFFD).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/job.hpp"
#include "model/viewer.hpp"
#include "plan/plan.hpp"
#include "wire/json_writer.hpp"

namespace paceline {

// "job_submitted", …, "plan"
std::string_view kind_of(const Entry& entry);

// As the journal keeps it.
void write_entry(JsonWriter& json, const Entry& entry);
std::string entry_text(const Entry& entry);

// Errors: data, with what is wrong where. Reads what write_entry() wrote: keys in another order are
// refused.
Result<Entry> read_entry(std::string_view text);

// The tiers of its job's target that a report met at the time at which each was first met.
struct TiersMet {
  bool deliver = false;
  bool final = false;
};
TiersMet tiers_met(const Entry& entry, const Job& job);

// The job whose owner alone sees all of the entry; nothing: everybody does.
std::optional<JobId> private_to(const Entry& entry);

// As people get it: the same, and besides every change of a plan has its number of `workers` and
// its `reason` as a sentence, and a report the tiers it met. For others a submission comes without
// its checkpoint pattern and a worker's end without its message; of reports and checkpoints they
// see nothing. False: nothing was written.
bool write_event(JsonWriter& json, const Entry& entry, Viewer viewer, TiersMet met = {});

}  // namespace paceline
