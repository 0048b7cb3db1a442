// Where a job's workers may stand beside slots and devices: near or away from labelled nodes, other
// jobs, and each other. A required term is never broken; a preferred one holds the job back for a
// while and is then given up.
//
//   label:disk=nvme      nodes with that label (label:disk: with any value of it)
//   job:prep             near the workers of jobs of that name; "prep*" matches any rest
//   self:rack            the job's own workers together in one rack
//   label:disk=nvme~10m  preferred: given up once the job has waited 10 minutes ("~": at once)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

enum class AffinityTo { label, job, self };

std::string_view to_string(AffinityTo to);  // as above

// How near two workers are: on one node, in one rack, behind one switch.
enum class Reach { node, rack, network_switch };

std::string_view to_string(Reach reach);  // "node", "rack", "switch"

struct Affinity {
  bool anti = false;  // away from, not near
  AffinityTo to = AffinityTo::label;
  std::string name;           // the label's key, or the other job's name; empty for self
  std::string value;          // the label's value; empty: any. Only for labels
  Reach reach = Reach::node;  // only for job and self
  std::optional<Duration> give_up_after;  // preferred: after waiting so long; none: required

  [[nodiscard]] bool required() const { return !give_up_after.has_value(); }
  friend bool operator==(const Affinity&, const Affinity&) = default;
};

// Reads the forms above; a job or self takes its reach as a last part (job:prep:rack, self:switch).
// Errors: invalid, with the forms.
Result<Affinity> parse_affinity(std::string_view text, bool anti);
std::string to_string(const Affinity& affinity);  // the same forms

// "prep*" matches "prep-7"; a name without a star matches itself.
bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace paceline
