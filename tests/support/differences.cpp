#include <fmt/format.h>

#include <set>
#include <tuple>

#include "policy/orders.hpp"
#include "support/world.hpp"

namespace paceline::testing {
namespace {

class Comparison {
 public:
  Comparison(const State& a, const State& b) : a_(a), b_(b) {}

  std::vector<std::string> run() {
    parts();
    orders();
    counts();
    jobs();
    slots();
    return std::move(found_);
  }

 private:
  template <class... Args>
  void expect(bool same, fmt::format_string<Args...> text, Args&&... args) {
    if (!same) found_.push_back(fmt::format(text, std::forward<Args>(args)...) + " differs");
  }

  void parts() {
    const auto &a = a_.parts(), &b = b_.parts();
    expect(a.seq == b.seq && a.round == b.round && a.at == b.at, "seq, round or time");
    expect(a.nodes == b.nodes, "a node");
    expect(a.periods == b.periods, "a period");
    expect(a.memo == b.memo, "the memo");
    expect(a.scripts == b.scripts, "a script");
    expect(a.trial == b.trial, "the trial");
    expect(a.bills == b.bills, "a plan's bill");
    expect(a.rules == b.rules, "the rules");
    expect(a.clock_marks == b.clock_marks && a.boot == b.boot, "the clock");
    expect(a.jobs.size() == b.jobs.size(), "the number of jobs");
  }

  // Of an order whose measures change with almost everything that happens to a job.
  static auto rows(const State& state) {
    using Row = std::tuple<JobId, OrderKey, double, Time, std::int32_t, bool, bool>;
    std::set<Row> rows;
    for (const auto& row : state.running_by(kShortest).rows())
      rows.emplace(row.job->id, row.key, row.slope, row.as_of, row.workers, row.preemptible,
                   row.resizable);
    return rows;
  }

  void orders() {
    expect(a_.queue() == b_.queue(), "queue()");
    expect(a_.active() == b_.active(), "active()");
    expect(a_.waiting() == b_.waiting(), "waiting()");
    expect(a_.out_of_range() == b_.out_of_range(), "out_of_range()");
    expect(a_.asked() == b_.asked(), "asked()");
    expect(rows(a_) == rows(b_), "running_by()");
  }

  void counts() {
    expect(a_.slots_available() == b_.slots_available(), "slots_available()");
    expect(a_.slots_leased() == b_.slots_leased(), "slots_leased()");
    expect(a_.slots_ever() == b_.slots_ever(), "slots_ever()");
    expect(a_.free_slots().total() == b_.free_slots().total(), "the number of free slots");
  }

  void jobs() {
    for (const Job& job : a_.jobs()) {
      const Job* other = b_.find_job(job.id);
      expect(other && *other == job, "job {}", job.id.value);
      expect(a_.dependants(job.id) == b_.dependants(job.id), "dependants({})", job.id.value);
    }
  }

  void slots() {
    for (const Node& node : a_.nodes()) {
      expect(a_.free_slots().free_on(node.id) == b_.free_slots().free_on(node.id), "free_on({})",
             node.id.value);
      for (std::uint32_t i = 0; i < node.slots.size(); ++i) {
        const SlotId id{node.id, i};
        expect(a_.free_slots().is_free(id) == b_.free_slots().is_free(id), "is_free({}/{})",
               node.id.value, i);
      }
    }
  }

  const State& a_;
  const State& b_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> differences(const State& a, const State& b) {
  return Comparison(a, b).run();
}

}  // namespace paceline::testing
