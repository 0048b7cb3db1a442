#include "plan/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/constraints.hpp"
#include "plan/draining.hpp"
#include "plan/lending.hpp"
#include "plan/protection.hpp"
#include "plan/reclaim.hpp"

namespace paceline {
namespace {

struct Violation {
  JobId job;  // whose change, or asking, it is
  std::string what;
};

class PlanCheck {
 public:
  PlanCheck(const Snapshot& snapshot, const Plan& plan)
      : snapshot_(snapshot), plan_(plan), standing_(snapshot.state) {}

  std::vector<Violation> run() {
    for (const Change& change : plan_.changes) free_seats(change);
    for (const Change& change : plan_.changes) check_change(change);
    for (const Change& change : plan_.changes) check_beneficiary(change);
    for (const JobId id : plan_.counted_anew) check_counted_anew(id);
    for (const Asking& asking : plan_.asked) check_asking(asking);
    if (!found_.empty()) return std::move(found_);
    for (const Change& change : plan_.changes) standing_.add(change);
    for (const Change& change : plan_.changes) check_place(change);
    return std::move(found_);
  }

 private:
  template <class... Args>
  void wrong(fmt::format_string<Args...> text, Args&&... args) {
    found_.push_back({job_, fmt::format(text, std::forward<Args>(args)...)});
  }

  void check_change(const Change& change) {
    job_ = change.job;
    const Job* job = snapshot_.state.find_job(change.job);
    if (!job) return wrong("job {} does not exist", change.job.value);
    if (!changed_.insert(change.job).second) wrong("job {} is changed twice", change.job.value);
    if (change.reason.code == ReasonCode::none)
      wrong("the change of job {} has no reason", change.job.value);
    check_state_of(*job, change);
    if (preempts(change.kind)) return;
    check_size(*job, change);
    for (const Seat& seat : change.placement) check_seat(*job, seat);
    check_survivors(*job, change);
  }

  // Each goes on as it is, in one rank.
  void check_survivors(const Job& job, const Change& change) {
    std::set<std::int32_t> before, after;
    for (const Survivor& survivor : change.survivors) {
      const auto rank =
          may_go_on_in_place(job, change) ? job.current->rank_of(survivor.process) : std::nullopt;
      const bool known = survivor.process.job == job.id && rank && survivor.rank >= 0 &&
                         survivor.rank < static_cast<std::int32_t>(change.placement.size());
      if (!known) return wrong("job {} is to go on with a worker it has not", job.id.value);
      const Worker& worker = job.current->workers[static_cast<std::size_t>(*rank)];
      const Seat& seat = change.placement[static_cast<std::size_t>(survivor.rank)];
      if (worker.state != WorkerState::running || worker.seat != seat)
        wrong("worker {} of job {} is to go on elsewhere, or does not run", *rank, job.id.value);
      if (!before.insert(*rank).second || !after.insert(survivor.rank).second)
        wrong("worker {} of job {} is to go on twice", *rank, job.id.value);
    }
    if (!change.survivors.empty()) check_newcomers(job, change, after);
  }

  // Nobody leaves before they are there.
  void check_newcomers(const Job& job, const Change& change, const std::set<std::int32_t>& stay) {
    std::set<SlotId> held;
    for (const Worker& worker : job.current->workers)
      for (const auto index : worker.seat.slots) held.insert({worker.seat.node, index});
    for (std::size_t rank = 0; rank < change.placement.size(); ++rank) {
      const Seat& seat = change.placement[rank];
      const bool waits = std::ranges::any_of(seat.slots, [&](std::uint32_t index) {
        return held.contains({seat.node, index});
      });
      if (waits && !stay.contains(static_cast<std::int32_t>(rank)))
        wrong("a worker that joins job {} waits for one that leaves it", job.id.value);
    }
  }

  static bool may_go_on_in_place(const Job& job, const Change& change) {
    return goes_on(change.kind) && job.resizes_in_place();
  }

  void check_counted_anew(JobId id) {
    job_ = id;
    const Job* job = snapshot_.state.find_job(id);
    if (!job || !snapshot_.state.waiting().contains(queue_key(*job)))
      wrong("job {} counts its service anew but does not wait", id.value);
  }

  void check_asking(const Asking& asking) {
    job_ = asking.job;
    const Job* job = snapshot_.state.find_job(asking.job);
    if (!job || !job->current || (asking.by && job->state != JobState::running))
      wrong("job {} is asked for its slots but does not run", asking.job.value);
  }

  void check_state_of(const Job& job, const Change& change) {
    const bool waits =
        snapshot_.state.waiting().contains(queue_key(job)) && job.eligible_at <= snapshot_.now;
    if (begins(change.kind) && !waits) wrong("job {} is started but does not wait", job.id.value);
    if (begins(change.kind)) return check_start(job, change);
    if (change.kind == ChangeKind::pause && !may_lend(snapshot_.state, job))
      wrong("job {} is paused and can't lend its slots", job.id.value);
    if (change.kind == ChangeKind::stop && outstays(snapshot_, job)) return check_is_seated(job);
    if (change.kind == ChangeKind::stop && job.state == JobState::running &&
        must_be_asked(snapshot_, job))
      wrong("job {} never saved and is stopped before its time", job.id.value);
    const bool resizes = goes_on(change.kind);
    if (resizes && job.forming && !job.lends())
      return wrong("job {} is on its way already", job.id.value);
    const bool by_rule =
        snapshot_.state.parts().fold_rules >= 6;  // plans of before are not held to it
    const Node* node =
        by_rule && resizes && job.current ? node_not_heard(snapshot_.state, job) : nullptr;
    if (node != nullptr)
      wrong("job {} is to leave {}, which isn't heard", job.id.value, node->spec.name);
    if (job.state == JobState::running || (resizes && job.awaits_replacements())) return;
    const bool comes_up = job.current && !job.forming && job.state == JobState::starting;
    const bool may = change.kind == ChangeKind::stop ? comes_up : job.lends() && waits;
    if (!may) wrong("job {} is {} and can't be changed", job.id.value, to_string(job.state));
  }

  // Newcomers of a generation that forms beside it are dismissed with it.
  void check_is_seated(const Job& job) {
    const bool comes = job.forming && !job.forms_in_place();
    if (comes || job.current->stop) wrong("job {} is on its way already", job.id.value);
  }

  void check_start(const Job& job, const Change& change) {
    if (job.lends() != (change.kind == ChangeKind::resume))
      wrong("job {} is {}, no {}", job.id.value, to_string(job.state), to_string(change.kind));
    else if (job.lends() && change.placement != frozen_seats(job))
      wrong("job {} can go on only where it was frozen", job.id.value);
  }

  void check_size(const Job& job, const Change& change) {
    const auto n = static_cast<std::int32_t>(change.placement.size());
    if (!job.range.contains(n)) {
      wrong("job {} gets {} workers, outside {}..{}", job.id.value, n, job.range.min,
            job.range.max);
    }
    if (n % job.spec->mesh.step() != 0) {
      wrong("job {} gets {} workers, no multiple of {}", job.id.value, n, job.spec->mesh.step());
    }
    const bool resumes = change.kind == ChangeKind::resume;
    const bool another = !job.current || change.generation != job.current->generation;
    if (resumes ? another : change.generation <= job.last_generation)
      wrong("generation {} of job {} was used", change.generation.value, job.id.value);
  }

  void check_seat(const Job& job, const Seat& seat) {
    if (static_cast<std::int32_t>(seat.slots.size()) != job.spec->slots_per_worker) {
      wrong("a worker of job {} gets {} slots instead of {}", job.id.value, seat.slots.size(),
            job.spec->slots_per_worker);
    }
    const Node* node = snapshot_.state.find_node(seat.node);
    if (!node || !node->up) return wrong("job {} is placed on a node that is not up", job.id.value);
    for (const auto index : seat.slots) check_slot(job, *node, index);
  }

  void check_slot(const Job& job, const Node& node, std::uint32_t index) {
    const SlotId id{node.id, index};
    if (!node.offers(index)) {
      return wrong("job {} gets slot {}/{}, which can't be used", job.id.value, node.spec.name,
                   index);
    }
    if (!taken_.insert(id).second) wrong("slot {}/{} is given twice", node.spec.name, index);
    const Slot& slot = node.slots[index];
    if (slot.promise) wrong("slot {}/{} is promised already", node.spec.name, index);
    if (slot.lease && !freed_.contains(id)) wrong("slot {}/{} is leased", node.spec.name, index);
  }

  // What the plan takes from any job it may give to any other, in whatever order.
  void free_seats(const Change& change) {
    const Job* job = snapshot_.state.find_job(change.job);
    if (!job || !job->current || job->lends() || change.kind == ChangeKind::start) return;
    for (const auto& worker : job->current->workers) {
      if (worker.state == WorkerState::ended) continue;
      for (const auto index : worker.seat.slots) freed_.insert({worker.seat.node, index});
    }
  }

  // ---- where; REQUIRES: the seats exist ----
  void check_place(const Change& change) {
    job_ = change.job;
    if (change.placement.empty()) return;
    const Job& job = snapshot_.state.job(change.job);
    check_mesh(job, change.placement);
    const Constraints constraints(standing_, job, snapshot_.now, kAllPreferred);
    if (constraints.none()) return;
    check_nodes(job, change.placement, constraints);
    check_devices(job, change.placement, constraints);
    check_nearness(job, change.placement, constraints);
  }

  void check_mesh(const Job& job, const Placement& seats) {
    const auto tensor = static_cast<std::size_t>(job.spec->mesh.tensor);
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      if (seats[rank].node == seats[rank - rank % tensor].node) continue;
      return wrong("a tensor group of job {} is spread over nodes", job.id.value);
    }
  }

  static std::map<NodeId, std::int32_t> workers_by_node(const Placement& seats) {
    std::map<NodeId, std::int32_t> workers;
    for (const Seat& seat : seats) ++workers[seat.node];
    return workers;
  }

  // What a gang has it may keep, whatever became of its nodes.
  static std::map<NodeId, std::int32_t> workers_there(const Job& job) {
    std::map<NodeId, std::int32_t> workers;
    if (!job.current) return workers;
    for (const auto& worker : job.current->workers) ++workers[worker.seat.node];
    return workers;
  }

  static bool is_part_of(const std::map<NodeId, std::int32_t>& workers,
                         const std::map<NodeId, std::int32_t>& whole) {
    return std::ranges::all_of(workers, [&](const auto& each) {
      const auto had = whole.find(each.first);
      return had != whole.end() && each.second <= had->second;
    });
  }

  void check_nodes(const Job& job, const Placement& seats, const Constraints& constraints) {
    const auto before = workers_there(job);
    for (const auto& [id, count] : workers_by_node(seats)) {
      const auto had = before.find(id);
      if (had != before.end() && count <= had->second) continue;
      const auto& name = snapshot_.state.find_node(id)->spec.name;
      if (const auto broken = constraints.broken_on(id))
        wrong("job {} is placed on {}, but it {}", job.id.value, name, *broken);
      else if (count > constraints.most_on(id))
        wrong("{} workers of job {} are more than {} has cores and memory for", count, job.id.value,
              name);
    }
  }

  // A job that names devices gets one model of them.
  void check_devices(const Job& job, const Placement& seats, const Constraints& constraints) {
    if (job.spec->devices.empty()) return;
    std::set<std::string> models;
    for (const Seat& seat : seats) {
      for (const auto index : seat.slots)
        models.insert(snapshot_.state.find_node(seat.node)->slot_spec(index).model);
    }
    for (const auto& model : models) {
      if (!constraints.serves(model))
        wrong("job {} gets a {}, which it did not name", job.id.value, model);
    }
    if (models.size() > 1) wrong("job {} gets devices of several models", job.id.value);
  }

  void check_nearness(const Job& job, const Placement& seats, const Constraints& constraints) {
    if (is_part_of(workers_by_node(seats), workers_there(job))) return;
    const auto domains = [&](Reach reach) {
      std::set<std::uint32_t> found;
      for (std::size_t rank = 0; rank < seats.size();
           rank += static_cast<std::size_t>(job.spec->mesh.tensor))
        found.insert(snapshot_.state.topology().domain(seats[rank].node, reach));
      return found.size();
    };
    const auto groups = seats.size() / static_cast<std::size_t>(job.spec->mesh.tensor);
    if (const auto reach = constraints.together(); reach && domains(*reach) > 1)
      wrong("the workers of job {} have to be on one {}", job.id.value, to_string(*reach));
    if (const auto reach = constraints.apart(); reach && domains(*reach) < groups)
      wrong("the workers of job {} have to be on different {}s", job.id.value, to_string(*reach));
  }

  // No job makes room for one that doesn't get it.
  void check_beneficiary(const Change& change) {
    job_ = change.job;
    if (!change.beneficiary) {
      const Job* job = snapshot_.state.find_job(change.job);
      const bool leaves = change.kind == ChangeKind::stop && job && outstays(snapshot_, *job);
      if (preempts(change.kind) && !leaves)
        wrong("the {} of job {} is for nobody", to_string(change.kind), change.job.value);
      return;
    }
    const bool served = std::any_of(
        plan_.changes.begin(), plan_.changes.end(),
        [&](const Change& c) { return c.job == *change.beneficiary && !preempts(c.kind); });
    if (!served)
      wrong("job {} makes room for job {}, which gets nothing", change.job.value,
            change.beneficiary->value);
  }

  const Snapshot& snapshot_;
  const Plan& plan_;
  Standing standing_;
  JobId job_;  // that is looked at
  std::vector<Violation> found_;
  std::set<JobId> changed_;
  std::set<SlotId> freed_, taken_;
};

class StateCheck {
 public:
  explicit StateCheck(const State& state) : state_(state) {}

  std::vector<std::string> run() {
    for (const Job& job : state_.jobs()) check_job(job);
    for (const Node& node : state_.nodes()) check_node(node);
    if (leased_ != state_.slots_leased())
      found_.push_back(
          fmt::format("{} slots are leased, counted {}", leased_, state_.slots_leased()));
    return std::move(found_);
  }

 private:
  void expect(bool holds, const Job& job, std::string_view what) {
    if (!holds)
      found_.push_back(fmt::format("job {} ({}): {}", job.id.value, to_string(job.state), what));
  }

  void check_job(const Job& job) {
    const bool over = is_over(job.state);
    expect(!over || (!job.current && !job.forming && job.leased == 0), job,
           "is over and holds something");
    expect(job.parting.empty() || job.current, job, "has workers that leave no gang");
    expect(!over || job.ended_at.has_value(), job, "is over without an end");
    expect(job.state != JobState::pending || (!job.current && !job.forming), job,
           "waits and holds a gang");
    expect(job.state != JobState::starting || job.current || job.forming, job,
           "starts without a gang");
    expect(job.state != JobState::running || (job.current && !job.current->stop), job,
           "runs without a gang or with a stop");
    expect(job.state != JobState::paused || (job.current && !job.current->stop), job,
           "is paused without a gang or with a stop");
    expect(job.state != JobState::running || !job.current || !job.current->lent_at, job,
           "runs in lent slots");
    expect(job.state != JobState::stopping || (job.current && job.current->stop), job,
           "stops without a stop");
    expect(job.state != JobState::resizing || job.forming || job.current, job,
           "resizes without a gang");
    expect(state_.queue().contains(queue_key(job)) == !over, job, "is in the wrong index");
    expect(state_.asked().contains(job.id) == job.is_asked(), job,
           "is asked, or not, unknown to the state");
    for (const auto* gang : {&job.current, &job.forming})
      expect(!*gang || (*gang)->generation <= job.last_generation, job,
             "has a generation that was never given");
    expect(!job.current || !job.forming || job.current->generation <= job.forming->generation, job,
           "forms an old generation");
    std::int32_t leased = 0;
    if (job.current) leased += check_seats(job, *job.current, "lacks the lease of");
    if (job.forming) leased += check_seats(job, *job.forming, "is neither leased nor promised");
    for (const Parting& each : job.parting) leased += check_parting(job, each);
    if (leased != job.leased)
      expect(false, job, fmt::format("counts {} leases, has {}", job.leased, leased));
  }

  // How many slots are leased to the gang.
  std::int32_t check_seats(const Job& job, const Gang& gang, std::string_view lacks) {
    std::int32_t leased = 0;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
      const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
      if (worker.state == WorkerState::ended) continue;
      const ProcessKey key = gang.process(job.id, rank);
      if (is_counted(job, gang, key)) continue;
      for (const auto index : worker.seat.slots) {
        const Slot& slot = state_.slot({worker.seat.node, index});
        if (job.current && &gang == &*job.current && gang.lent_at) {
          if (slot.lent != key) expect(false, job, fmt::format("is not frozen in slot {}", index));
          continue;
        }
        const bool has_lease = slot.lease && slot.lease->worker == key;
        const bool may_wait = job.forming && &gang == &*job.forming && slot.promise == key;
        leased += has_lease ? 1 : 0;
        if (!has_lease && !may_wait)
          expect(false, job, fmt::format("worker {} {} slot {}", rank, lacks, index));
      }
    }
    return leased;
  }

  std::int32_t check_parting(const Job& job, const Parting& each) {
    expect(state_.has_seat(each.process, each.worker.seat), job,
           "lacks the lease of one that leaves");
    return static_cast<std::int32_t>(each.worker.seat.slots.size());
  }

  // With the current gang, which it is to survive.
  static bool is_counted(const Job& job, const Gang& gang, const ProcessKey& key) {
    const bool forms = job.forming && &gang == &*job.forming;
    return forms && job.forms_in_place() && !job.current->lent_at && job.current->rank_of(key);
  }

  void check_node(const Node& node) {
    for (std::uint32_t i = 0; i < node.slots.size(); ++i) check_slot(node, i);
  }

  void check_slot(const Node& node, std::uint32_t index) {
    const Slot& slot = node.slots[index];
    const auto complain = [&](std::string_view what) {
      found_.push_back(fmt::format("slot {}/{}: {}", node.spec.name, index, what));
    };
    if (slot.lease) ++leased_;
    if (slot.lease && !holds(slot.lease->worker, node.id, index))
      complain("is leased to a worker that has no seat there");
    if (slot.promise && !holds(*slot.promise, node.id, index))
      complain("is promised to a worker that has no seat there");
    if (slot.lent && !holds(*slot.lent, node.id, index))
      complain("is lent by a worker that has no seat there");
    if (slot.promise && !(slot.lease && slot.lease->ending))
      complain("is promised without an ending lease");
    if (state_.free_slots().is_free({node.id, index}) &&
        (slot.lease || slot.promise || !node.offers(index)))
      complain("counts as free");
  }

  bool holds(const ProcessKey& key, NodeId node, std::uint32_t index) const {
    const Job* job = state_.find_job(key.job);
    const Worker* worker = job ? job->find_worker(key) : nullptr;
    return worker && worker->seat.node == node &&
           std::ranges::find(worker->seat.slots, index) != worker->seat.slots.end();
  }

  const State& state_;
  std::vector<std::string> found_;
  std::int64_t leased_ = 0;
};

}  // namespace

std::vector<std::string> violations(const Snapshot& snapshot, const Plan& plan) {
  std::vector<std::string> sentences;
  for (Violation& each : PlanCheck(snapshot, plan).run()) sentences.push_back(std::move(each.what));
  return sentences;
}

// Each turn leaves out at least what the first violation is of.
Plan sound_part(const Snapshot& snapshot, Plan plan) {
  for (;;) {
    std::set<JobId> jobs;
    for (const Violation& each : PlanCheck(snapshot, plan).run()) jobs.insert(each.job);
    if (jobs.empty()) return plan;
    std::set<std::uint32_t> trades;
    for (const Change& change : plan.changes)
      if (jobs.contains(change.job)) trades.insert(change.trade);
    std::erase_if(plan.changes, [&](const auto& each) { return trades.contains(each.trade); });
    std::erase_if(plan.counted_anew, [&](JobId job) { return jobs.contains(job); });
    std::erase_if(plan.asked, [&](const auto& each) { return jobs.contains(each.job); });
  }
}

std::vector<std::string> check_state(const State& state) { return StateCheck(state).run(); }

}  // namespace paceline
