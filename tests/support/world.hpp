// A world in the hand: a state, a time that moves when told, and the facts and rounds that change
// it. Links the core only. Every entry is folded by apply() and followed by the full check of the
// state: what it finds throws std::logic_error.
//
//   World world("1x6 cpu", "elastic-fifo");
//   const JobId a = world.submit("2..4");
//   world.round();
//   world.started(a);
//   world.advance(span("10s"));
//   world.ended(a, ending("0"));
//   EXPECT_EQ(world.job(a).state, JobState::completed);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/state.hpp"
#include "placement/any.hpp"
#include "placement/pack.hpp"
#include "plan/draft.hpp"
#include "plan/plan.hpp"
#include "support/literals.hpp"
#include "support/print.hpp"

namespace paceline::testing {

class World {
 public:
  // Begins at 1000 s with every node up and the policy set.
  explicit World(std::string_view cluster_text, std::string_view policy = "elastic-fifo");

  // ---- reading ----
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] Snapshot snapshot() const { return {state_, now_}; }
  [[nodiscard]] const Job& job(JobId id) const { return state_.job(id); }
  [[nodiscard]] const std::vector<Entry>& journal() const { return journal_; }
  // Jobs touched by the newest entry.
  [[nodiscard]] const std::vector<JobId>& touched() const { return touched_; }

  // ---- time ----
  void advance(Duration passed) { now_ += passed; }

  // ---- what people do ----
  JobId submit(std::string_view literal);
  void cancel(JobId job) { tell(JobRequested{job, Request::cancel, account(1000)}); }
  void pause(JobId job) { tell(JobRequested{job, Request::pause, account(1000)}); }
  void resume(JobId job) { tell(JobRequested{job, Request::resume, account(1000)}); }
  void resize(JobId job, std::string_view range);
  void set_policy(std::string_view name,
                  const std::map<std::string, std::string>& parameters = {}) {
    tell(PolicySet{std::string(name), parameters});
  }
  // Pack if none is set; it has to stay.
  void set_placer(const Placer& placer) { placer_ = &placer; }

  // ---- what workers do; all of the current gang unless a rank is named ----
  void started(JobId job);
  void started(JobId job, std::int32_t rank);
  void ended(JobId job, const Ending& how = testing::ending("0"));
  void ended(JobId job, std::int32_t rank, const Ending& how);
  void ended(const ProcessKey& process, Ending how);
  void killed(JobId job);
  void killed(JobId job, std::int32_t rank);
  void checkpoint(JobId job);
  void report(JobId job, const Progress& progress);
  void time_limit(JobId job) { tell(TimeLimitReached{job}); }
  void stands(JobId job);  // its current gang: from then on it can be resized in place

  // ---- what nodes do ----
  void node_up(std::string_view name);  // and starts what it is asked
  void node_refuses(std::string_view name, const Refusal& refusal);
  void node_down(std::string_view name);
  void node_retired(std::string_view name);
  // Every worker of a gang with a seat on the node is lost.
  void node_lost(std::string_view name);

  // ---- rounds ----
  using Decide = std::function<void(const Snapshot&, Draft&)>;
  // What `decide` plans now; checked against violations(), not folded.
  [[nodiscard]] Plan plan(const Decide& decide, Protects protects = Protects::no) const;
  // What the active policy plans now, everybody unprotected unless said otherwise; folded.
  Plan round(Protects protects = Protects::no);
  Plan round(const Decide& decide, Protects protects = Protects::no);

  // ---- rounds of one change each; std::invalid_argument if the seats don't fit ----
  Plan start(JobId job, std::int32_t workers);
  Plan change_size(JobId job, std::int32_t workers);
  // Stops `giver`; its slots go to `beneficiary`, which starts with `workers` workers.
  Plan preempt(JobId giver, JobId beneficiary, std::int32_t workers);
  // The same, and `giver` is frozen instead.
  Plan lend(JobId giver, JobId beneficiary, std::int32_t workers);
  // To these seats, where the survivors keep theirs: by hand, as no policy asks for it.
  Plan resize_in_place(JobId job, const Placement& seats, const std::vector<Survivor>& survivors);
  // Submits a job, starts it, and every worker runs.
  JobId run(std::string_view literal, std::int32_t workers);

  // Any entry at the present time.
  void tell(Event event) { fold(std::move(event)); }
  void fold(std::variant<Event, Plan> body);
  // From the next entry on, which tells that a server began that folds by these rules.
  void fold_by(std::uint32_t rules);

 private:
  Plan make_way(JobId beneficiary, std::int32_t workers,
                const std::function<void(Draft&)>& give_up);
  [[nodiscard]] const Gang& gang(JobId job) const;
  [[nodiscard]] std::vector<ProcessKey> alive(JobId job) const;  // of the current gang
  [[nodiscard]] Ending told_to_stop(JobId job) const;

  Time now_ = time_from_us(1'000'000'000);
  State state_;
  std::vector<Entry> journal_;
  std::optional<Began> began_;  // before the next entry
  std::vector<JobId> touched_;
  PackPlacer pack_;
  const Placer* placer_ = nullptr;  // nothing: pack_
};

// What differs between two states, accessor by accessor, one sentence each: empty for a state and
// one rebuilt from its parts.
std::vector<std::string> differences(const State& a, const State& b);

}  // namespace paceline::testing
