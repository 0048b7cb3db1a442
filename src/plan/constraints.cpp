#include "plan/constraints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "estimate/remaining.hpp"
#include "model/device_model.hpp"
#include "model/label.hpp"

namespace paceline {
namespace {

constexpr double kRounding = 1e-9;  // of sums of cores

// Preferred and no longer insisted on.
bool soft(const Affinity& affinity, const Job& job, Time now) {
  if (affinity.required()) return false;
  return job.seated() || job.eligible_at + *affinity.give_up_after <= now;
}

void sort_unique(auto& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// The nodes where it stands now, sorted.
std::vector<NodeId> seats_of(const Job& job) {
  std::vector<NodeId> nodes;
  for (const auto* gang : {&job.current, &job.forming}) {
    if (!*gang || !job.seated()) continue;
    for (const Worker& worker : (*gang)->workers) {
      if (worker.state != WorkerState::ended) nodes.push_back(worker.seat.node);
    }
  }
  sort_unique(nodes);
  return nodes;
}

// Is its newest checkpoint on one machine alone, and needed? A job that runs is resized meanwhile, and what
// becomes of that waits for the checkpoint; one of which there will be no copy is not.
bool ties(const Job& job) {
  if (!job.checkpoint || !job.checkpoint->place || !job.checkpoint->place->ship.empty())
    return false;
  return !job.seated() || !job.checkpoint->place->unkept.empty();
}

// Those that a plan starts after the job: in its draft they were not there yet.
void leave_out_later(std::vector<JobId>& jobs, JobId job) {
  const auto last = std::find(jobs.rbegin(), jobs.rend(), job);
  if (last != jobs.rend()) jobs.erase(last.base(), jobs.end());
}

bool contains(const auto& sorted, const auto& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

std::string wish(const Affinity& affinity) {
  const auto place = to_string(affinity.reach);
  switch (affinity.to) {
    case AffinityTo::label:
      return fmt::format("{} label {}{}{}", affinity.anti ? "stays off" : "needs", affinity.name,
                         affinity.value.empty() ? "" : "=", affinity.value);
    case AffinityTo::job:
      return fmt::format("{} the {}s of job '{}'", affinity.anti ? "stays off" : "needs", place,
                         affinity.name);
    case AffinityTo::self:
      break;
  }
  if (affinity.anti) return fmt::format("keeps its workers on different {}s", place);
  return affinity.reach == Reach::network_switch
             ? "keeps its workers behind one switch"
             : fmt::format("keeps its workers {} one {}",
                           affinity.reach == Reach::node ? "on" : "in", place);
}

std::size_t may_give_up(const Job& job, Time now) {
  const auto& terms = job.spec->affinity;
  return static_cast<std::size_t>(std::count_if(
      terms.begin(), terms.end(), [&](const Affinity& a) { return soft(a, job, now); }));
}

std::optional<Time> gives_up_next(const Job& job, Time now) {
  std::optional<Time> next;
  for (const Affinity& affinity : job.spec->affinity) {
    if (affinity.required() || soft(affinity, job, now)) continue;
    const Time at = job.eligible_at + *affinity.give_up_after;
    if (!next || at < *next) next = at;
  }
  return next;
}

Constraints::Constraints(const Standing& standing, const Job& job, Time now, GivenUp given_up)
    : standing_(standing), job_(job), checks_(given_up == kAllPreferred), own_(seats_of(job)) {
  const JobSpec& spec = *job.spec;
  std::size_t kept = checks_ ? 0 : may_give_up(job, now) - static_cast<std::size_t>(given_up);
  for (const Affinity& affinity : spec.affinity) {
    if (soft(affinity, job, now) || (checks_ && !affinity.required())) {
      if (kept == 0) continue;
      --kept;
    }
    take(affinity);
  }
  keep_off_the_aloof();
  tied_ = ties(job);
  const bool is_drain_announced = !standing_.state().drains_announced().empty();
  if (const auto left =
          is_drain_announced ? remaining(standing_.state().nodes(), job, now) : std::nullopt)
    likely_end_ = now + *left;
  only_its_users_ = labels_.empty() && terms_.empty() && spec.devices.empty() && !spec.exclusive &&
                    spec.cpus <= 0 && spec.memory_bytes == 0 && !together_ && !apart_ &&
                    !likely_end_ && !tied_;
  none_ = only_its_users_ && !aloof_near_ && !standing_.state().topology().is_choosy();
}

void Constraints::take(const Affinity& affinity) {
  switch (affinity.to) {
    case AffinityTo::label:
      labels_.push_back(&affinity);
      break;
    case AffinityTo::job:
      take_job_term(affinity);
      break;
    case AffinityTo::self:
      auto& reach = affinity.anti ? apart_ : together_;
      const auto wins = [&](Reach r) { return affinity.anti ? *reach < r : r < *reach; };
      if (!reach || wins(affinity.reach)) reach = affinity.reach;
  }
}

void Constraints::take_job_term(const Affinity& affinity) {
  std::vector<JobId> jobs = standing_.named(affinity.name);
  const bool names_itself = name_matches(affinity.name, job_.spec->name);
  if (checks_ && names_itself && !affinity.anti) leave_out_later(jobs, job_.id);
  std::erase(jobs, job_.id);
  if (!affinity.anti && names_itself && jobs.empty()) return;
  std::vector<NodeId> nodes;
  for (const JobId id : jobs) {
    for (const NodeId node : standing_.nodes_of(id)) nodes.push_back(node);
    if (!checks_ || affinity.anti) continue;
    for (const NodeId node : seats_of(standing_.state().job(id))) nodes.push_back(node);
  }
  add_term(affinity, nodes, wish(affinity));
}

void Constraints::add_term(const Affinity& affinity, const std::vector<NodeId>& nodes,
                           std::string text) {
  Term term{affinity.anti, affinity.reach, {}, std::move(text)};
  for (const NodeId node : nodes)
    term.domains.push_back(standing_.state().topology().domain(node, term.reach));
  sort_unique(term.domains);
  terms_.push_back(std::move(term));
}

void Constraints::keep_off_the_aloof() {
  standing_.each_aloof([&](const Job& other) {
    if (other.id == job_.id) return;
    aloof_near_ = aloof_near_ || other.spec->exclusive;
    for (const Affinity& affinity : other.spec->affinity) {
      const bool means = affinity.anti && affinity.required() && affinity.to == AffinityTo::job &&
                         name_matches(affinity.name, job_.spec->name);
      if (means)
        add_term(affinity, standing_.nodes_of(other.id),
                 fmt::format("is kept off by job {}", other.id.value));
    }
  });
}

bool Constraints::serves(const std::string& model) const { return takes_device(*job_.spec, model); }

bool Constraints::has_device(const Node& node) const {
  if (job_.spec->devices.empty()) return true;
  const Topology& topology = standing_.state().topology();
  const auto& models = topology.models_of(topology.site(node.id).kind);
  return std::any_of(models.begin(), models.end(), [&](const auto& m) { return serves(m); });
}

std::optional<std::string> Constraints::broken_on(NodeId id) const {
  if (none_) return std::nullopt;
  const Node& node = *standing_.state().find_node(id);
  const JobSpec& spec = *job_.spec;
  if (!has_device(node)) return fmt::format("needs {}", fmt::join(spec.devices, " or "));
  if (!contains(own_, id)) {
    if (auto broken = broken_account(node)) return broken;
    if (tied_ && job_.checkpoint->is_missing_on(node.spec.name))
      return fmt::format("needs node {}, where its newest checkpoint lies",
                         job_.checkpoint->place->node);
    if (auto broken = broken_drain(node)) return broken;
    if (auto broken = broken_label(node)) return broken;
    if (auto broken = broken_term(id)) return broken;
    if (auto broken = broken_alone(id)) return broken;
  }
  if (most_on(id) > 0) return std::nullopt;
  return spec.cpus > 0 ? fmt::format("needs {} cores for each worker", spec.cpus)
                       : "needs more memory for each worker";
}

std::optional<std::string> Constraints::broken_account(const Node& node) const {
  const std::string& user = job_.spec->user;
  if (paceline::serves(node.spec, user)) return std::nullopt;
  if (node.spec.only_user.empty())
    return fmt::format("needs nodes that start jobs of user '{}'", user);
  return fmt::format("needs nodes that serve more users than '{}'", node.spec.only_user);
}

// A job that runs elsewhere, and grows, ends no later for it.
std::optional<std::string> Constraints::broken_drain(const Node& node) const {
  if (!likely_end_ || !node.drain || node.drains()) return std::nullopt;
  if (*likely_end_ <= standing_.state().drain_begins(node)) return std::nullopt;
  if (node.drain->order.limit && job_.checkpoint) return std::nullopt;
  return fmt::format("needs longer than until the drain of node {}", node.spec.name);
}

std::optional<std::string> Constraints::broken_label(const Node& node) const {
  for (const Affinity* label : labels_) {
    if (has_label(node.spec.labels, *label) == label->anti) return wish(*label);
  }
  return std::nullopt;
}

std::optional<std::string> Constraints::broken_term(NodeId node) const {
  for (const Term& term : terms_) {
    const auto domain = standing_.state().topology().domain(node, term.reach);
    if (contains(term.domains, domain) == term.anti) return term.text;
  }
  return std::nullopt;
}

std::optional<std::string> Constraints::broken_alone(NodeId node) const {
  if (!job_.spec->exclusive && !aloof_near_) return std::nullopt;
  std::optional<std::string> broken;
  standing_.each_on(node, [&](const Job& other, std::int32_t) {
    if (broken || other.id == job_.id) return;
    if (job_.spec->exclusive) broken = "needs nodes of its own";
    if (other.spec->exclusive)
      broken = fmt::format("is kept off by job {}, which has nodes of its own", other.id.value);
  });
  return broken;
}

std::int32_t workers_within(const JobSpec& spec, const NodeSpec& node, double cpus, double memory) {
  double most = std::numeric_limits<std::int32_t>::max();
  if (spec.cpus > 0 && node.cpus > 0) most = std::min(most, cpus / spec.cpus + kRounding);
  if (spec.memory_bytes > 0 && node.memory_bytes > 0)
    most = std::min(most, memory / static_cast<double>(spec.memory_bytes) + kRounding);
  return static_cast<std::int32_t>(std::floor(std::max(0.0, most)));
}

std::int32_t Constraints::most_on(NodeId id) const {
  const JobSpec& spec = *job_.spec;
  const NodeSpec& node = standing_.state().find_node(id)->spec;
  double cpus_left = node.cpus, memory_left = static_cast<double>(node.memory_bytes);
  if (spec.cpus <= 0 && spec.memory_bytes == 0)
    return workers_within(spec, node, cpus_left, memory_left);
  const auto workers = [&](const Job& other, std::int32_t slots) {
    return other.id == job_.id ? 0 : 1.0 * slots / other.spec->slots_per_worker;
  };
  const auto keeps_memory = [&](const Job& other, std::int32_t slots) {
    memory_left -= workers(other, slots) * static_cast<double>(other.spec->memory_bytes);
  };
  standing_.each_on(id, [&](const Job& other, std::int32_t slots) {
    cpus_left -= workers(other, slots) * other.spec->cpus;
    keeps_memory(other, slots);
  });
  standing_.each_frozen_on(id, keeps_memory);
  return workers_within(spec, node, cpus_left, memory_left);
}

}  // namespace paceline
