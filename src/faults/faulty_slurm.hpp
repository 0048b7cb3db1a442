// A cluster of Slurm's on virtual time: jobs wait, start on a host, run until their limit, and end as Slurm and
// other people like: cancelled, preempted, requeued, with a node that fails, or forgotten. Each that runs is a
// machine with an agent that joins by what stands in its script (slurm/settings.hpp).
//
// It says what must not be: a name that is asked for twice, more pilots than may be, one that is left behind, and
// once it is calm, a job that is still on a pilot at its limit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "faults/joiner.hpp"
#include "faults/scene.hpp"
#include "slurm/pilot.hpp"
#include "slurm/settings.hpp"

namespace paceline::faults {

// What a cluster of Slurm's needs of the world.
struct AroundSlurm {
  // What a pilot's script becomes on a node: a machine of that name, whose agent is given the token.
  std::function<Joiner&(const std::string& node, const std::string& token)> bring;
  // The operator's word that the machine of a node is off. False: it is to be said again.
  std::function<bool(const std::string& node)> say_off;
  // It joined, and was not removed.
  std::function<bool(const std::string& node)> is_node;
  // As the server sees it. nullptr: it is down, or knows no such node.
  std::function<const Node*(const std::string& node)> seen;
};

class FaultySlurm {
 public:
  struct Habits {
    PilotSettings settings;
    std::uint32_t hosts = 1;
    Duration every{};  // at most, between two misfortunes
  };
  FaultySlurm(Scene& scene, Habits habits, AroundSlurm around, Rng rng);

  void begin();
  // From now on Slurm does what it is asked for, and ends pilots at their limit alone.
  void calm();
  // From now on there are so many hosts more, and pilots that start then have that limit.
  void extend(Duration time, std::uint32_t hosts) {
    habits_.settings.time = time;
    habits_.hosts += hosts;
  }

  // ---- its commands; Errors: unavailable: it does not answer, perhaps it did what was asked ----
  Result<std::vector<Pilot>> list(WallTime now);
  Result<std::uint64_t> ask(const std::string& name, std::uint32_t invitation,
                            const std::string& script, WallTime now);
  Result<void> give_back(std::uint64_t job);

  // Nothing of it is there any more.
  [[nodiscard]] bool is_empty() const;
  void check_rest();
  // Jobs that run on nodes that drain, as the server sees them: they are to be given back.
  [[nodiscard]] std::set<std::uint64_t> draining() const;
  // Pilots that wait or run, but for those on nodes that drain, or did when the server decided, and those that
  // somebody let wait again: while such a one ends, the server asks for another.
  [[nodiscard]] std::uint32_t alive(const std::set<std::uint64_t>& draining_then) const;

 private:
  struct Job {
    std::string name;
    Pilot pilot;
    std::string token;
    WallTime asked_at{};
    std::optional<Time> limit_at;     // while it runs
    Time calm_from;                   // since it started, or since the world is calm
    std::string node;                 // as it is called, once it runs
    std::set<std::string> nodes;      // as it was called, each time that it ran
    std::string machine;              // the last that it ran on
    Duration limit{};                 // as it started
    bool lost = false;                // by Slurm, which can't say when its workers are gone
    Joiner* joiner = nullptr;         // while it runs or ends
    std::optional<Time> empty_since;  // drained, and nobody works there
    bool listed = true, requeued = false;
    std::uint64_t version = 0;  // what was put into the queue for an earlier one is void
  };

  void look();
  void start_those_that_fit();
  void start(Job& job);
  void watch(Job& job);
  void watch_empty(Job& job);
  void befall();
  void cancel(Job& job);
  void preempt(Job& job);
  void requeue(Job& job);
  void fail_node(Job& job);
  void lose_node(Job& job);
  void forget(Job& job);
  void end(Job& job, std::string_view how, std::string_view reason = "");
  void ended(Job& job, const std::string& how);
  void unlist(Job& job);
  void say_off(std::uint64_t id);
  void later(Job& job, Duration span, std::function<void(Job&)> what);
  [[nodiscard]] bool drains(const Job& job) const;
  [[nodiscard]] bool answers();
  [[nodiscard]] std::uint32_t busy_hosts() const;
  [[nodiscard]] Duration up_to(Duration most) { return Duration{rng_.between(0, most.count())}; }
  void wrong(std::string what);

  Scene& scene_;
  Habits habits_;
  AroundSlurm around_;
  Rng rng_;
  std::uint64_t last_job_ = 100;
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::string, std::uint64_t> names_;
  std::optional<Time> away_until_;  // its controller
};

}  // namespace paceline::faults
