#include "plan/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "plan/check.hpp"

namespace paceline {
namespace {

// What the indexes and check_state() take for granted: that everything that is referred to exists.
class PartsCheck {
 public:
  explicit PartsCheck(const StateParts& parts) : parts_(parts) {}

  std::optional<std::string> run() {
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) look_at(parts_.nodes[i], i);
    for (const Job& job : parts_.jobs) look_at(job);
    for (const auto& [names, mean] : parts_.interference.pairs) {
      if (!parts_.interference.pairs.contains({names.second, names.first}) && !found_)
        found_ = fmt::format("{} is compared with {}, but not {} with {}", names.first,
                             names.second, names.second, names.first);
    }
    return std::move(found_);
  }

 private:
  void expect(bool holds, std::string_view noun, std::uint64_t id, std::string_view what) {
    if (!holds && !found_) found_ = fmt::format("{} {} {}", noun, id, what);
  }

  void look_at(const Node& node, std::size_t id) {
    const auto need = [&](bool holds, std::string_view what) { expect(holds, "node", id, what); };
    need(node.id.value == id, "has another number");
    need(names_.insert(node.spec.name).second, "has the name of another");
    need(node.slots.size() >= node.spec.slots.size(), "has fewer slots than it describes");
    need(!node.retired || (!node.up && node.slots.empty()), "has retired and has slots");
    for (const Slot& slot : node.slots) {
      need(!slot.lease || is_worker(slot.lease->worker), "is leased to a worker that is not there");
      need(!slot.promise || is_worker(*slot.promise), "is promised to a worker that is not there");
      need(!slot.lent || is_worker(*slot.lent), "is lent by a worker that is not there");
    }
  }

  [[nodiscard]] bool is_worker(const ProcessKey& key) const {
    const Job* found = parts_.jobs.find(key.job);
    if (!found) return false;
    return found->find_worker(key) != nullptr;
  }

  void look_at(const Job& job) {
    const auto need = [&](bool holds, std::string_view what) {
      expect(holds, "job", job.id.value, what);
    };
    if (!job.spec) return need(false, "is not described");
    const auto per_worker = job.spec->slots_per_worker;
    need(per_worker >= 1 && per_worker <= kSlotsPerWorkerMax, "has an impossible size");
    need(job.range.min >= 1 && job.range.min <= job.range.max && job.range.max <= kWorkersMax,
         "has an impossible size");
    need(std::ranges::none_of(job.spec->after, [&](JobId before) { return before == job.id; }),
         "waits for itself");
    for (const auto* gang : {&job.current, &job.forming}) {
      if (*gang) look_at(job.id, **gang, need);
    }
    need(job.parting.empty() || job.current, "has workers that leave no gang");
    for (const Parting& each : job.parting) {
      need(each.process.job == job.id, "has a process of another job, or one in two ranks");
      look_at(each.worker, need);
    }
    const bool twice =
        job.current && job.forming && job.current->generation == job.forming->generation;
    need(!twice || job.current->size() == job.forming->size(), "has two gangs of one generation");
  }

  template <class Need>
  void look_at(JobId job, const Gang& gang, const Need& need) {
    need(!gang.workers.empty(), "has a gang without workers");
    for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
      const ProcessKey process = gang.process(job, rank);
      need(process.job == job && gang.rank_of(process) == rank,
           "has a process of another job, or one in two ranks");
    }
    for (const Worker& worker : gang.workers) look_at(worker, need);
  }

  template <class Need>
  void look_at(const Worker& worker, const Need& need) {
    need((worker.state == WorkerState::ended) == worker.ending.has_value(),
         "has a worker that ended without an ending, or the other way round");
    const auto node = worker.seat.node.value;
    if (node >= parts_.nodes.size()) return need(false, "has a seat on a node that is not there");
    const auto slots = parts_.nodes[node].slots.size();
    need(!worker.seat.slots.empty(), "has a seat without slots");
    need(std::ranges::all_of(worker.seat.slots, [&](auto index) { return index < slots; }),
         "has a seat on a slot that is not there");
  }

  const StateParts& parts_;
  std::set<std::string> names_;
  std::optional<std::string> found_;
};

tl::unexpected<Error> misfit(const std::string& what) {
  return fail(ErrorCode::data, "its parts do not fit together: " + what);
}

}  // namespace

Result<State> assemble(StateParts parts) {
  if (const auto wrong = PartsCheck(parts).run()) return misfit(*wrong);
  State state(std::move(parts));
  if (const auto wrong = check_state(state); !wrong.empty()) return misfit(wrong.front());
  return state;
}

}  // namespace paceline
