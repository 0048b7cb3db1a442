#include "faults/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "faults/worker_text.hpp"
#include "plan/apply.hpp"

namespace paceline::faults {
namespace {

constexpr std::int32_t kTempFail = 75,
                       kTempFailToo = 99;  // exit codes that ask to be started again
constexpr int kCrashLoop = 5;              // as many quick failures in a row are one
constexpr Duration kLimitSlack = std::chrono::minutes{1};  // of a time limit: clocks err

// Causes that only a worker itself can bring about.
bool is_own(Cause cause) {
  return cause == Cause::exited || cause == Cause::signalled || cause == Cause::out_of_memory ||
         cause == Cause::launch_failed || cause == Cause::setup_failed;
}

ProcessKey first_of(JobId job) { return {job, {}, 0}; }

// The worker's job, while the worker is in the current gang and has not ended.
const Job* find_alive(const State& state, const ProcessKey& worker) {
  const Job* job = state.find_job(worker.job);
  const auto rank = job && job->current ? job->current->rank_of(worker) : std::nullopt;
  if (!rank) return nullptr;
  const Worker& known = job->current->workers[static_cast<std::size_t>(*rank)];
  return known.state == WorkerState::ended ? nullptr : job;
}

}  // namespace

bool Oracle::asks_again(const WorkerGone& gone) {
  return gone.cause == Cause::exited &&
         (gone.exit_code == kTempFail || gone.exit_code == kTempFailToo);
}

bool Oracle::is_bad(const WorkerGone& gone) {
  if (gone.cause != Cause::exited) return is_own(gone.cause);
  return gone.exit_code != 0 && !asks_again(gone);
}

// What a worker does after a notice is no failure, but that it could not be started at all.
bool Oracle::counts_as_failure(const WorkerGone& gone) const {
  const bool whatever = gone.cause == Cause::out_of_memory || gone.cause == Cause::launch_failed ||
                        gone.cause == Cause::setup_failed;
  return is_bad(gone) && (whatever || !disturbed_.contains(gone.key));
}

// ---- machines ----

void Oracle::ended(const WorkerGone& gone, bool disturbed) {
  ends_.emplace(gone.key, gone);
  if (disturbed) disturbed_.insert(gone.key);
}

void Oracle::wrote(const WorkerReport& report) {
  const ProcessKey& key = report.key;
  written_[key].push_back({key.job, key.born, key.number, report.report, report.at, report.step,
                           report.samples, report.metrics});
  for (const auto& [name, value] : report.metrics) {
    auto& [least, most] = values_.try_emplace({key.job, name}, value, value).first->second;
    least = std::min(least, value);
    most = std::max(most, value);
  }
}

void Oracle::saved(const CheckpointSeen& checkpoint) {
  made(checkpoints_, checkpoint.key, checkpoint.step);
}

void Oracle::published(const ModelSeen& model) { made(models_, model.key, model.step); }

void Oracle::made(Saves& saves, const ProcessKey& worker, std::optional<std::uint64_t> step) {
  const Save save{worker.job, worker.born, step.value_or(0)};
  saves.made.insert(save);
  saves.by_process[worker].push_back(save);
}

void Oracle::told(const AgentFrame& frame) {
  if (frame.message) told_[frame.session].emplace(frame.number, *frame.message);
}

void Oracle::confirmed(Session session, std::uint64_t number, const State& state) {
  std::uint64_t& before = confirmed_[session];
  auto& messages = told_[session];
  for (auto it = messages.upper_bound(before); it != messages.end() && it->first <= number; ++it)
    check_told(it->second, state);
  messages.erase(messages.begin(), messages.upper_bound(number));
  before = std::max(before, number);
}

// Of others nothing needs to be kept.
void Oracle::check_told(const AgentMessage& message, const State& state) {
  if (const auto* report = std::get_if<WorkerReport>(&message)) check_report(*report, state);
  if (const auto* saved = std::get_if<CheckpointSeen>(&message))
    check_confirmed(checkpoints_, saved->key, saved->step, state);
  if (const auto* model = std::get_if<ModelSeen>(&message))
    check_confirmed(models_, model->key, model->step, state);
}

void Oracle::check_confirmed(const Saves& saves, const ProcessKey& worker,
                             std::optional<std::uint64_t> step, const State& state) {
  if (find_alive(state, worker) && !is_journalled(saves, worker, step.value_or(0)))
    wrong_(fmt::format("a {} of {} is confirmed and not known", saves.noun, text(worker)));
}

void Oracle::check_report(const WorkerReport& report, const State& state) {
  const Job* job = find_alive(state, report.key);
  if (!job) return;
  const auto what = fmt::format("report {} of {}", report.report, text(report.key));
  if (!passes_over_ &&
      !stored_.contains({report.key.job, report.key.born, report.key.number, report.report}))
    wrong_(what + " is confirmed and not stored");
  if (!job->progress) wrong_(what + " is confirmed and does not count");
  check_tiers(*job, report.metrics, what);
  if (!job->current || job->current->size() > 1) return;
  Course& course = courses_[job->id];
  const bool same = std::exchange(course.told_by, report.key.born) == report.key.born;
  course.step = same ? std::max(course.step, report.step) : report.step;
}

// What a job is shown to have done when it ended; workers of one gang tell steps of their own.
void Oracle::check_progress(const Course& course, const Job& job) {
  if (!course.step || course.told_by != job.last_generation || job.progress->step >= course.step)
    return;
  wrong_(fmt::format("job {} told step {}, and ended at step {}", job.id.value, *course.step,
                     job.progress->step.value_or(0)));
}

void Oracle::check_tiers(const Job& job, const std::map<std::string, double>& values,
                         std::string_view what) {
  if (!job.spec->target) return;
  const Target& target = *job.spec->target;
  const auto value = values.find(target.metric);
  if (value == values.end()) return;
  if (meets(target, target.final, value->second) && !job.target.reached_at)
    wrong_(fmt::format("{} meets the target, and nothing marks it", what));
  if (meets(target, target.deliver, value->second) && !job.target.delivered_at)
    wrong_(fmt::format("{} is good enough to deliver, and nothing marks it", what));
}

// ---- the journal ----

// Whatever reports told, the largest or the least met a tier if any did.
void Oracle::check_marks(const Job& job) {
  if (!job.target.reached_at && !job.target.delivered_at) return;
  const Target& target = *job.spec->target;
  const auto values = values_.find({job.id, target.metric});
  const auto met = [&](double tier) {
    return values != values_.end() && (meets(target, tier, values->second.first) ||
                                       meets(target, tier, values->second.second));
  };
  if (job.target.reached_at && !met(target.final))
    wrong_(fmt::format("job {} has reached its target, and no report says so", job.id.value));
  if (job.target.delivered_at && !met(target.deliver))
    wrong_(fmt::format("job {} is delivered, and no report says so", job.id.value));
}

void Oracle::stored(const MetricPoint& point) {
  stored_.insert({point.job, point.born, point.number, point.report});
  check_written(point);
}

void Oracle::took(const Entry& entry) {
  if (const auto* plan = std::get_if<Plan>(&entry.body)) {
    for (const Change& change : plan->changes) courses_[change.job].disturbed = true;
    return;
  }
  const Event& event = std::get<Event>(entry.body);
  if (const auto* asked = std::get_if<JobRequested>(&event)) {
    courses_[asked->job].disturbed = true;
    courses_[asked->job].cancel_asked |= asked->request == Request::cancel;
  } else if (const auto* limit = std::get_if<TimeLimitReached>(&event)) {
    courses_[limit->job].disturbed = true;
  } else if (const auto* late = std::get_if<NewcomersLate>(&event)) {
    // Those that are left of its gang may be told to stop, and end at once.
    courses_[late->job].disturbed = true;
  } else if (const auto* acknowledged = std::get_if<CheckpointAcknowledged>(&event)) {
    journalled(checkpoints_, acknowledged->job, acknowledged->generation,
               acknowledged->checkpoint.step);
  } else if (const auto* stands = std::get_if<GangStands>(&event)) {
    Course& course = courses_[stands->job];
    course.stood = std::max(course.stood, stands->generation);
    for (auto it = later_.lower_bound(first_of(stands->job));
         it != later_.end() && it->first.job == stands->job; ++it)
      if (it->second.contains(stands->generation) && !endings_.contains(it->first))
        course.met = std::max(course.met, stands->generation);
  } else if (const auto* published = std::get_if<ModelPublished>(&event)) {
    journalled(models_, published->job, published->generation, published->model.step);
  } else if (const auto* over = std::get_if<WorkerEnded>(&event)) {
    endings_.emplace(over->worker, over->ending);
    const auto true_end = ends_.find(over->worker);
    const bool known = true_end != ends_.end();
    const bool same = known && true_end->second.cause == over->ending.cause &&
                      true_end->second.exit_code == over->ending.exit_code;
    if (is_own(over->ending.cause) && !same)
      wrong_(fmt::format("{} is said to have ended ({}), and {}", text(over->worker),
                         to_string(over->ending.cause),
                         known ? "ended otherwise" : "did not end so on its machine"));
  }
}

void Oracle::journalled(Saves& saves, JobId job, Generation generation,
                        std::optional<std::uint64_t> step) {
  const Save save{job, generation, step.value_or(0)};
  saves.journalled.insert(save);
  if (!is_made(saves, save))
    wrong_(fmt::format("a {} of job {} is in the journal, and nobody saved it", saves.noun,
                       job.value));
}

void Oracle::check(Time now, const State& state, const Job& job) {
  Course& course = courses_[job.id];
  if (course.counted) course.ran += now - course.seen;
  if (course.sat) course.seated += now - course.seen;
  course.seen = now;
  course.counted = job.state == JobState::running || job.state == JobState::resizing ||
                   job.state == JobState::starting || job.state == JobState::stopping;
  course.sat = course.counted || job.state == JobState::paused;
  follow_checkpoint(course, job);
  follow_gang(course, job);
  check_marks(job);
  if (!is_over(job.state)) return check_retries(course, job);
  if (std::exchange(course.over, true)) return;
  check_end(course, state, job);
  check_progress(course, job);
}

Generation Oracle::last_of(const ProcessKey& worker) const {
  const auto later = later_.find(worker);
  return later == later_.end() ? worker.born : *later->second.rbegin();
}

bool Oracle::is_journalled(const Saves& saves, const ProcessKey& worker, std::uint64_t step) const {
  if (saves.journalled.contains({worker.job, worker.born, step})) return true;
  const auto counts = counts_in_.find(worker);
  return counts != counts_in_.end() &&
         std::ranges::any_of(counts->second, [&](Generation generation) {
           return saves.journalled.contains({worker.job, generation, step});
         });
}

bool Oracle::is_made(const Saves& saves, const Save& journalled) const {
  if (saves.made.contains(journalled)) return true;
  const auto& [job, generation, step] = journalled;
  for (auto it = counts_in_.lower_bound(first_of(job));
       it != counts_in_.end() && it->first.job == job; ++it)
    if (it->second.contains(generation) && saves.made.contains({job, it->first.born, step}))
      return true;
  return false;
}

// Before the gang: what a gang saved before it ended begins the row anew.
void Oracle::follow_checkpoint(Course& course, const Job& job) {
  if (!job.checkpoint || job.checkpoint->acknowledged_at <= course.saved_at) return;
  course.saved_at = job.checkpoint->acknowledged_at;
  course.row = 0;
}

void Oracle::follow_gang(Course& course, const Job& job) {
  const Generation now = job.current ? job.current->generation : Generation{};
  if (now == course.generation) {
    const bool gives_up = job.current && job.current->stop && job.current->waits;
    course.disturbed = course.disturbed || gives_up;
    return;
  }
  bool goes_on = false;
  for (std::int32_t rank = 0; job.current && rank < job.current->size(); ++rank)
    goes_on = goes_on || members_.contains(job.current->process(job.id, rank));
  if (course.generation != Generation{}) gang_over(course, job.id, course.generation, goes_on);
  course.generation = now;
  course.disturbed = false;
  for (std::int32_t rank = 0; job.current && rank < job.current->size(); ++rank) {
    const ProcessKey process = job.current->process(job.id, rank);
    members_.insert(process);
    if (process.born != now) later_[process].insert(now);
    if (process.born != now) counts_in_[process].insert(now);
  }
  for (const Parting& each : job.parting) counts_in_[each.process].insert(now);
}

bool Oracle::was_of(const ProcessKey& worker, Generation generation) const {
  return members_.contains(worker) && last_of(worker) == generation;
}

// Where some of its workers go on without those that died, that costs no retry; but again and again it is a
// crash loop, too.
void Oracle::gang_over(Course& course, JobId id, Generation generation, bool goes_on) {
  bool bad = false, again = false, certain = !course.disturbed;
  for (auto it = ends_.lower_bound(first_of(id)); it != ends_.end() && it->first.job == id; ++it) {
    if (!was_of(it->first, generation)) continue;
    bad = bad || counts_as_failure(it->second);
    again = again || asks_again(it->second);
  }
  for (auto it = endings_.lower_bound(first_of(id)); it != endings_.end() && it->first.job == id;
       ++it) {
    if (!was_of(it->first, generation)) continue;
    const Ending& ending = it->second;
    certain = certain && ending.cause != Cause::node_lost && ending.cause != Cause::refused &&
              !ending.asks_requeue();
  }
  const bool same = course.short_of_failed && course.stood < generation;
  course.row += (bad || again) && !same ? 1 : 0;
  course.short_of_failed = goes_on && (bad || again || same);
  if (goes_on) return;
  course.perhaps += bad ? 1 : 0;
  course.failed += bad && certain ? 1 : 0;
}

void Oracle::check_retries(const Course& course, const Job& job) {
  if (job.retries_used > course.perhaps)
    wrong_(fmt::format("job {} has used {} retries, and {} of its gangs failed", job.id.value,
                       job.retries_used, course.perhaps));
  if (job.retries_used < course.failed)
    wrong_(fmt::format("job {} goes on after {} failures with {} of {} retries used", job.id.value,
                       course.failed, job.retries_used, job.spec->retries));
}

// Over its time, while no server was there.
bool Oracle::ended_by_machine(const Job& job) const {
  const auto is_last = [&](const ProcessKey& key) { return last_of(key) == job.last_generation; };
  for (auto it = ends_.lower_bound(first_of(job.id)); it != ends_.end() && it->first.job == job.id;
       ++it)
    if (is_last(it->first) && it->second.cause == Cause::timed_out) return true;
  return false;
}

bool Oracle::was_over_before_they_met(const Course& course, const Job& job) const {
  const Generation last = job.last_generation;
  if (course.met == last) return false;
  bool any = false;
  for (auto it = endings_.lower_bound(first_of(job.id));
       it != endings_.end() && it->first.job == job.id; ++it) {
    if (it->first.born == last || !was_of(it->first, last)) continue;
    if (!it->second.clean()) return false;
    any = true;
  }
  return any;
}

// Its last gang; those that the others' end dismissed don't count.
bool Oracle::failed_by_itself(const Course& course, const Job& job) const {
  const Generation last = job.last_generation;
  const bool alone = was_over_before_they_met(course, job);
  for (auto it = ends_.lower_bound(first_of(job.id)); it != ends_.end() && it->first.job == job.id;
       ++it) {
    const bool dismissed = alone && it->first.born == last;
    if (was_of(it->first, last) && !dismissed && counts_as_failure(it->second)) return true;
  }
  return false;
}

void Oracle::check_end(const Course& course, const State& state, const Job& job) {
  const auto say = [&](std::string_view what) {
    wrong_(fmt::format("job {} is {} ({}): {}", job.id.value, to_string(job.state),
                       job.ending ? job.ending->message : "", what));
  };
  switch (job.state) {
    case JobState::failed: {
      const bool loops = job.ending && job.ending->cause == Cause::crash_loop;
      if (loops && course.row < kCrashLoop)
        say(fmt::format("{} of its gangs failed in a row", course.row));
      if (!loops && course.perhaps <= job.spec->retries) say("it has retries left");
      break;
    }
    case JobState::timeout:
      if (const Duration ran = ended_by_machine(job) ? course.seated : course.ran;
          !job.spec->max_duration || ran + kLimitSlack < *job.spec->max_duration)
        say("its time is not over");
      break;
    case JobState::cancelled: {
      const bool waited =
          std::any_of(job.spec->after.begin(), job.spec->after.end(), [&](JobId id) {
            const Job* other = state.find_job(id);
            return !other || (is_over(other->state) && other->state != JobState::completed);
          });
      if (!course.cancel_asked && !waited) say("nobody asked for it");
      break;
    }
    case JobState::completed:
      if (failed_by_itself(course, job)) say("a worker of its last gang failed");
      break;
    default:
      break;
  }
}

}  // namespace paceline::faults
