// Where a job's workers may stand: the one judge of devices, accounts, affinity, exclusive nodes,
// cores and memory, for placers that look for seats and for the check of their plans.
//
//   Constraints constraints(standing, job, now, GivenUp{0});
//   constraints.allows(node)      may workers of the job stand there?
//   constraints.most_on(node)     how many of them?
//
// A required term is never broken. A preferred one counts like a required one until the job has
// waited for as long as the term says since it last became eligible; from then on, and for a job
// that runs, it is tried first and given up if nothing fits, the last one named first.
//
// A worker that stands somewhere may stay there: labels, where the newest checkpoint lies, neighbours and drains that were announced are
// judged when a worker comes. Where a drain is announced a job comes only if it is likely to end before,
// or if its length is unknown. A job that has to be near jobs of its own kind may be the first of them, also where
// its plan starts others after it.
//
// Cost: O(terms + jobs that a term names + jobs that keep others away) to make; O(slots of the
// node) to ask.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/standing.hpp"

namespace paceline {

// How many preferred terms, from the last, no longer count. kAllPreferred is for the check of a
// plan: no job breaks what is required, and a job that goes in the same plan was near enough.
enum class GivenUp : std::size_t {};
inline constexpr GivenUp kAllPreferred{std::numeric_limits<std::size_t>::max()};

// How many a job may give up now; a job with seats may give up all of them.
std::size_t may_give_up(const Job& job, Time now);
// When it may give up the next one; nothing if no time brings that.
std::optional<Time> gives_up_next(const Job& job, Time now);

// Workers of the job that so many cores and so many bytes of memory are enough for on a node; what
// the node doesn't tell, is enough.
std::int32_t workers_within(const JobSpec& spec, const NodeSpec& node, double cpus, double memory);

class Constraints {
 public:
  // Neither the job nor the standing may go before it.
  Constraints(const Standing& standing, const Job& job, Time now, GivenUp given_up);

  // Every free slot serves.
  [[nodiscard]] bool none() const { return none_; }
  // What forbids it a node forbids it all jobs of its user.
  [[nodiscard]] bool only_its_users() const { return only_its_users_; }
  [[nodiscard]] bool serves(const std::string& model) const;
  [[nodiscard]] bool allows(NodeId node) const { return none_ || !broken_on(node); }
  // What forbids the node, as the job would say it: "needs label disk=nvme". Nothing: it is
  // allowed.
  [[nodiscard]] std::optional<std::string> broken_on(NodeId node) const;
  // Workers of the job that the node has cores and memory for, those that stand there included.
  [[nodiscard]] std::int32_t most_on(NodeId node) const;

  // All its workers are within that reach of each other; the nearest that is asked for.
  [[nodiscard]] std::optional<Reach> together() const { return together_; }
  // No two of its workers are, but those of one tensor group; the farthest that is asked for.
  [[nodiscard]] std::optional<Reach> apart() const { return apart_; }

 private:
  struct Term {
    bool anti = false;
    Reach reach = Reach::node;
    std::vector<std::uint32_t> domains;  // sorted: where the jobs it names stand
    std::string text;
  };

  void take(const Affinity& affinity);
  void take_job_term(const Affinity& affinity);
  void keep_off_the_aloof();
  void add_term(const Affinity& affinity, const std::vector<NodeId>& nodes, std::string text);
  [[nodiscard]] std::optional<std::string> broken_account(const Node& node) const;
  [[nodiscard]] std::optional<std::string> broken_drain(const Node& node) const;
  [[nodiscard]] std::optional<std::string> broken_label(const Node& node) const;
  [[nodiscard]] std::optional<std::string> broken_term(NodeId node) const;
  [[nodiscard]] std::optional<std::string> broken_alone(NodeId node) const;
  [[nodiscard]] bool has_device(const Node& node) const;

  const Standing& standing_;
  const Job& job_;
  bool checks_;
  std::optional<Time> likely_end_ = {};  // of the job, where a drain is announced
  bool none_ = true;
  bool only_its_users_ = true;
  bool tied_ = false;        // to where its newest checkpoint lies
  bool aloof_near_ = false;  // some job somewhere keeps others off its nodes
  std::vector<const Affinity*> labels_;
  std::vector<Term> terms_;
  std::vector<NodeId> own_;  // where it stands, sorted
  std::optional<Reach> together_, apart_;
};

// The term as a job would say it: "needs label disk=nvme", "stays off the racks of job 'prep'".
std::string wish(const Affinity& affinity);

}  // namespace paceline
