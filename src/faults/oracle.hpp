// What should become of each job, from what its workers did and what people asked, written down once
// more without the scheduler's code. Where a Ledger sees that the state is whole, this sees that it is
// true:
//
//   - a worker's ending in the journal is how it ended on its machine
//   - a job is FAILED only where more of its gangs failed by themselves than it has retries, or where
//     since its last checkpoint as many failed or asked to be started again as make a crash loop; and
//     no job goes on that failed so often; retries are counted for gangs that failed, and for no others
//   - TIMEOUT only over a time limit, and not before it; CANCELLED only where somebody asked, or where
//     a job it waits for did not complete; COMPLETED only where no worker of the last gang failed
//   - what the server confirms to an agent is there: a report is stored and counts, a checkpoint is
//     acknowledged, a model published
//   - a report that meets a tier marks it, and nothing else does
//   - what is stored or acknowledged a worker wrote so; the points of each once, and in their
//     order where none is passed over
//   - at the end every report is stored, every checkpoint acknowledged and every model published that a
//     worker wrote whose end was heard of, but for as many reports as the server says it passed over
//   - at the end the store has all that became durable: points, but for those that were thinned out of an
//     ended job's, what starts a job, the keys of submissions
//
// A gang that was disturbed, by a plan, by people or by a lost machine, may end either way and proves
// nothing of retries.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"
#include "store/store.hpp"
#include "wire/agent_protocol.hpp"

namespace paceline::faults {

class Oracle {
 public:
  using Wrong = std::function<void(std::string)>;
  explicit Oracle(Wrong wrong) : wrong_(std::move(wrong)) {}

  // ---- what is seen of machines ----
  // `disturbed`: the worker had a notice or a kill before.
  void ended(const WorkerGone& gone, bool disturbed);
  // A worker wrote it into its log.
  void wrote(const WorkerReport& report);
  void saved(const CheckpointSeen& checkpoint);
  void published(const ModelSeen& model);
  // Nobody will read what the worker wrote.
  void unread(const ProcessKey& worker) { unread_.insert(worker); }
  // An agent sent it. Told of again and again, as frames are sent again.
  void told(const AgentFrame& frame);
  // The server says that everything up to `number` is durable.
  void confirmed(Session session, std::uint64_t number, const State& state);

  // ---- what is seen of the journal ----
  void took(const Entry& entry);
  void stored(const MetricPoint& point);
  // The server doesn't keep all of a job's points.
  void passes_over() { passes_over_ = true; }
  void passed_over(const PassedOver& more) { passed_over_[more.process] += more.points; }
  // After each commit, of each job that it touched.
  void check(Time now, const State& state, const Job& job);
  // Once everything has calmed down.
  void at_rest();

  // ---- what is in the store ----
  // Once everything has calmed down, of each job.
  void compare(Store& store, const Job& job);
  // Nothing of the job is kept, as may be.
  void dropped(Store& store, JobId job);
  void compare_done();

 private:
  using Report = std::tuple<JobId, Generation, std::int32_t, std::uint64_t>;
  // Of a job's processes that were born into one generation, or of one generation's, by its step.
  using Save = std::tuple<JobId, Generation, std::uint64_t>;
  // What workers saved, by checkpoints or as models, and what of it stands in the journal.
  struct Saves {
    std::string_view noun;
    std::map<ProcessKey, std::vector<Save>> by_process = {};
    std::set<Save> made = {}, journalled = {};
  };
  // One job as far as it is known from outside.
  struct Course {
    Generation generation;   // of the gang that is current
    bool disturbed = false;  // while this gang was there
    int failed = 0;          // gangs that did so for certain
    int perhaps = 0;         // gangs of which a worker failed by itself, whatever else happened
    // The same and gangs that asked to be started again, since the last checkpoint; those that
    // fail while they meet anew without some that failed are of the same failure.
    int row = 0;
    bool short_of_failed = false;  // the current gang goes on without some
    Generation stood;              // the newest that stands
    Generation met;  // the newest that was said to stand while one was there that had gone on in it
    Time saved_at;
    bool cancel_asked = false;
    bool over = false;
    Generation told_by;                 // the last worker without others whose report was confirmed
    std::optional<std::uint64_t> step;  // that it told
    Duration ran{};                     // as the world's clock has it
    Duration seated{};  // the same, and paused: its machine may not have heard of that
    Time seen;
    bool counted = false;  // its time counts since then
    bool sat = false;
  };

  void follow_gang(Course& course, const Job& job);
  // The generation that a process was of at last.
  [[nodiscard]] Generation last_of(const ProcessKey& worker) const;
  static void made(Saves& saves, const ProcessKey& worker, std::optional<std::uint64_t> step);
  void journalled(Saves& saves, JobId job, Generation generation,
                  std::optional<std::uint64_t> step);
  void check_confirmed(const Saves& saves, const ProcessKey& worker,
                       std::optional<std::uint64_t> step, const State& state);
  void check_missing(const Saves& saves, const ProcessKey& worker);
  // Does the journal have a save of a generation that the process was of?
  [[nodiscard]] bool is_journalled(const Saves& saves, const ProcessKey& worker,
                                   std::uint64_t step) const;
  [[nodiscard]] bool is_made(const Saves& saves, const Save& journalled) const;
  void gang_over(Course& course, JobId id, Generation generation, bool goes_on);
  // Was it a member of that generation at last?
  [[nodiscard]] bool was_of(const ProcessKey& worker, Generation generation) const;
  static void follow_checkpoint(Course& course, const Job& job);
  [[nodiscard]] bool ended_by_machine(const Job& job) const;
  // Had all that trained ended well before they met those that were to join them?
  [[nodiscard]] bool was_over_before_they_met(const Course& course, const Job& job) const;
  void check_end(const Course& course, const State& state, const Job& job);
  void check_retries(const Course& course, const Job& job);
  void check_told(const AgentMessage& message, const State& state);
  void check_report(const WorkerReport& report, const State& state);
  void check_tiers(const Job& job, const std::map<std::string, double>& values,
                   std::string_view what);
  void check_marks(const Job& job);
  void check_progress(const Course& course, const Job& job);
  void check_written(const MetricPoint& point);
  void check_thinned(const Remains& left, JobId job, std::uint64_t newest, std::uint64_t points);
  void check_missing();
  [[nodiscard]] bool is_stored(const MetricPoint& point) const;
  [[nodiscard]] bool was_heard_out(const ProcessKey& worker, const Ending& ending) const;
  [[nodiscard]] const MetricPoint* find_written(const MetricPoint& point) const;
  [[nodiscard]] bool failed_by_itself(const Course& course, const Job& job) const;
  [[nodiscard]] static bool is_bad(const WorkerGone& gone);
  [[nodiscard]] static bool asks_again(const WorkerGone& gone);
  [[nodiscard]] bool counts_as_failure(const WorkerGone& gone) const;

  Wrong wrong_;
  std::map<ProcessKey, WorkerGone> ends_;  // on the machines
  std::set<ProcessKey> disturbed_, unread_;
  std::map<ProcessKey, Ending> endings_;  // in the journal
  std::map<JobId, Course> courses_;
  std::set<ProcessKey> members_;                      // that were ever in a current gang
  std::map<ProcessKey, std::set<Generation>> later_;  // that it went on in
  // The same, and of one that leaves a gang those that go on meanwhile: what it tells counts there.
  std::map<ProcessKey, std::set<Generation>> counts_in_;
  std::map<ProcessKey, std::vector<MetricPoint>> written_;  // by report
  Saves checkpoints_{"checkpoint"}, models_{"model"};
  // The least and the largest value of a metric that a job reported.
  std::map<std::pair<JobId, std::string>, std::pair<double, double>> values_;
  std::set<Report> stored_, there_;  // there_: in the store
  bool passes_over_ = false;
  std::map<ProcessKey, std::int64_t> passed_over_;
  std::map<JobId, std::uint64_t> thinned_out_;  // points
  std::set<JobId> dropped_;
  std::map<Session, std::map<std::uint64_t, AgentMessage>> told_;
  std::map<Session, std::uint64_t> confirmed_;
};

}  // namespace paceline::faults
