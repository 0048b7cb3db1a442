// Which nodes suit a job, and how much of it they could hold if nothing else ran: by what it requires, by
// whose jobs a node starts, by cores and memory. A user without an account on a node may get one.
#pragma once

#include <cstdint>
#include <optional>

#include "model/job_spec.hpp"
#include "model/state.hpp"

namespace paceline {

// How its workers have to stand to each other: the nearest that is required, and the farthest.
struct OwnTerms {
  std::optional<Reach> together, apart;
};
OwnTerms own_terms(const JobSpec& spec);

bool is_label(const Affinity& term);  // a required one

// Does the job not take any slot of a node that serves its user?
bool is_particular(const JobSpec& spec);

bool serves_user(const NodeSpec& node, const JobSpec& spec);
bool suits(const NodeSpec& node, const Affinity& term);
// Its user, and all its labels.
bool suits(const NodeSpec& node, const JobSpec& spec);

// Slots of a node whose model the job takes.
std::int64_t slots_for(const JobSpec& spec, const NodeSpec& node);

// Tensor groups that the nodes which suit the job could hold, as near together or far apart as it requires,
// and, where it names devices, on one model of them. Counts no further than to `enough`.
// Cost: O(slots of the nodes that are looked at), for each model that it takes.
std::int64_t groups_ever(const State& state, const JobSpec& spec, std::int64_t enough);

}  // namespace paceline
