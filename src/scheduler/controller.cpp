#include "scheduler/controller.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "model/time_limits.hpp"
#include "plan/apply.hpp"
#include "scheduler/admission.hpp"
#include "scheduler/commands.hpp"
#include "scheduler/forgetting.hpp"
#include "scheduler/intake.hpp"
#include "scheduler/lineup.hpp"
#include "scheduler/reports.hpp"
#include "scheduler/retiring.hpp"
#include "scheduler/thinning.hpp"
#include "scheduler/upkeep.hpp"
#include "scheduler/wakeups.hpp"

namespace paceline {
namespace {

constexpr Duration kStorageRetry = std::chrono::seconds{1};
constexpr Duration kClockDrift = std::chrono::seconds{1};  // labels are no further off than that

struct SubmitCommand {
  Submission submission;
  Done<JobId> done;
};
struct EventCommand {
  Event event;
  Done<void> done;
  std::map<std::string, std::string> memo = {};  // of the policy that it sets
};
using Command = std::variant<SubmitCommand, EventCommand>;

// A batch on its way to the store, and the clients to tell once it is there.
struct Pending {
  Batch batch;
  std::vector<std::function<void(const Result<void>&)>> tell;
  Wakeups::News news;
};

}  // namespace

struct Controller::Impl {
  Impl(Store& s, Engine& e, Clock& c, const PolicyRegistry& r, Options o)
      : store(s),
        engine(e),
        clock(c),
        registry(r),
        options(std::move(o)),
        placer(known_placer(options.placement)) {
    if (!options.limits) return;
    admission.emplace(*options.limits);
    thinning.emplace(options.limits->points_per_second, options.limits->points_per_second_per_user);
    spacing.emplace(std::chrono::seconds{options.limits->progress_interval});
    forgetting.emplace(Forgetting::Bounds{options.limits->ended_jobs,
                                          std::chrono::seconds{options.limits->ended_jobs_age}});
    retiring.emplace(std::chrono::seconds{options.limits->absent_nodes_age});
    if (const auto owners = options.limits->failing_owners; owners > 0)
      drains.set_aside_after(owners);
    upkeep.emplace(store, Upkeep::Options{{options.limits->journal_entries, options.journal_size},
                                          options.keep,
                                          options.remove_logs});
  }

  static std::unique_ptr<Placer> known_placer(const std::string& name) {
    auto made = make_placer(name);
    check(made.has_value(), "the placement is known");
    return std::move(*made);
  }

  void take(Command command) {
    commands.push_back(std::move(command));
    if (wake) wake();
  }

  // ---- one step ----
  Result<void> step() {
    const Time now = clock.now();
    if (retry_at && now < *retry_at) return {};
    retry_at.reset();
    Pending pending;
    observe_clock(pending, now);
    observe(pending, now);
    take_commands(pending, now);
    take_time_limits(pending, now);
    for (Event& event : drains.due(now)) add(pending, std::move(event), now);
    if (auto ok = commit(pending, now); !ok) return refuse(pending, now, ok.error());
    if (wakeups.due(now)) {
      const std::uint64_t before = state.seq();
      if (auto ok = round(now); !ok)
        retry_at = now + kStorageRetry;
      else if (pending.batch.entries.empty() && state.seq() == before)
        quiet_round = now;
    }
    act();
    if (auto ok = checkpoint_if_due(now); !ok) return ok;
    if (upkeep) upkeep->step(state, now);
    return {};
  }

  // Deadlines are due by the wall clock, and people are shown what it showed.
  void observe_clock(Pending& pending, Time now) {
    const Boot* boot = clock.boot();
    const bool booted = boot != nullptr && boot->id != (state.boot() ? state.boot()->id : "");
    const Duration by = clock.wall() - shown(state.clock_marks(), now);
    if (!booted && std::chrono::abs(by) < kClockDrift) return;
    add(pending, ClockSet{by, booted ? std::optional(*boot) : std::nullopt}, now);
    if (std::chrono::abs(by) < kClockDrift) return;
    spdlog::warn("{} by {:.0f} s.",
                 booted ? "The machine was started since: its clock moved"
                        : "The machine's clock was set, or the machine slept: it moved",
                 to_seconds(by));
  }

  // What is told is kept until it is durable, and nothing more is taken until then. Reports go
  // first: what a worker said before it ended counts.
  void observe(Pending& pending, Time now) {
    behind = !observed.empty() || !reports.journalled.empty();
    if (!behind) listen(now);
    pending.batch.entries.reserve(observed.events.size());
    for (const Progressed& report : reports.journalled) add(pending, report, now);
    forget(pending, now);
    retire(pending, now);
    give_newcomers_up(pending, now);
    for (const Event& event : observed.events) {
      if (!std::holds_alternative<Progressed>(event)) add(pending, event, now);
    }
    pending.batch.points = observed.points;
    pending.batch.passed_over = passed_over;
    pending.batch.unjournalled = reports.unjournalled;
  }

  void listen(Time now) {
    observed = engine.observe();
    auto merged = merge_reports(state, observed.events);
    if (spacing) {
      reports = spacing->take(std::move(merged), observed.events, now);
    } else {
      for (auto& [report, meets_tier] : merged) reports.journalled.push_back(std::move(report));
    }
    if (!thinning) return;
    auto taken = thinning->take(std::move(observed.points), observed.events, state, now);
    observed.points = std::move(taken.kept);
    passed_over = std::move(taken.passed_over);
  }

  // Nothing that comes before it in the batch changes a job that is over: they are stored as they
  // are.
  void forget(Pending& pending, Time now) {
    auto jobs = forgetting ? forgetting->due(now) : std::vector<JobId>();
    if (jobs.empty()) return;
    for (const JobId id : jobs) pending.batch.forgotten.push_back(state.job(id));
    add(pending, JobsForgotten{std::move(jobs)}, now);
  }

  // Nothing that comes before it in the batch changes a node or a gang.
  void retire(Pending& pending, Time now) {
    auto nodes = retiring ? retiring->due(state, now) : std::vector<NodeId>();
    if (nodes.empty()) return;
    add(pending, NodesRetired{std::move(nodes)}, now);
  }

  void give_newcomers_up(Pending& pending, Time now) {
    if (now < limits_from) return;
    for (const JobId id : newcomers.take_due(now)) {
      const Job& job = state.job(id);
      if (job.forming)
        spdlog::warn("Job {}: the workers that were to join it were not ready within {} s.",
                     id.value, options.limits->newcomers_wait);
      else
        spdlog::warn(
            "Job {} starts anew: there was no room within {} s for others in place of those "
            "that died.",
            id.value, options.limits->replacements_wait);
      add(pending,
          NewcomersLate{id, job.forming ? job.forming->generation : job.current->generation}, now);
    }
  }

  void watch(const Job& job) {
    limits.watch(job.id, job.limit_at());
    if (!options.limits) return;
    std::optional<Time> until;
    if (const auto since = job.newcomers_since())
      until = *since + std::chrono::seconds{options.limits->newcomers_wait};
    if (const auto since = job.short_since())
      until = *since + std::chrono::seconds{options.limits->replacements_wait};
    newcomers.watch(job.id, until);
  }

  void add(Pending& pending, Event event, Time now) const {
    wakeups.see(pending.news, event);
    append(pending.batch, std::move(event), now);
  }

  void append(Batch& batch, std::variant<Event, Plan> body, Time now) const {
    Entry entry{state.seq() + batch.entries.size() + 1, now, std::move(body)};
    if (batch.entries.empty()) {
      entry.began = unsaid_began;
      entry.quiet_round = quiet_round;
    }
    batch.entries.push_back(std::move(entry));
  }

  void take_commands(Pending& pending, Time now) {
    Intake intake({state, store, admission ? &*admission : nullptr, options.room, now, clock.wall(),
                   options.coming()});
    for (auto& command : std::exchange(commands, {})) {
      if (auto* submit = std::get_if<SubmitCommand>(&command)) {
        take_submission(pending, intake, *submit, now);
      } else {
        auto& other = std::get<EventCommand>(command);
        add(pending, other.event, now);
        if (!other.memo.empty()) append(pending.batch, memo_plan(other), now);
        pending.tell.push_back([done = std::move(other.done)](const Result<void>& r) { done(r); });
      }
    }
  }

  void take_submission(Pending& pending, Intake& intake, SubmitCommand& command, Time now) {
    auto& [submission, done] = command;
    const auto taken = intake.take(pending.batch, submission);
    if (!taken) return done(fail(taken.error()));
    if (taken->durable) return done(taken->job);
    if (taken->is_new) {
      append(pending.batch, JobSubmitted{taken->job, std::move(submission.spec)}, now);
      pending.news.decides = true;
    }
    pending.tell.push_back([done = std::move(done), id = taken->job](const Result<void>& r) {
      if (r)
        done(id);
      else
        done(fail(r.error()));
    });
  }

  // Changes nothing but what the policy that was just set remembers; no round was held for it.
  [[nodiscard]] Plan memo_plan(const EventCommand& command) const {
    const auto& name = std::get<PolicySet>(command.event).name;
    return {state.round(), name, options.build, {}, command.memo, {}, {}};
  }

  void take_time_limits(Pending& pending, Time now) {
    if (now < limits_from) return;
    for (const JobId id : limits.take_due(now)) add(pending, TimeLimitReached{id}, now);
  }

  Result<void> commit(Pending& pending, Time now) {
    const Batch& batch = pending.batch;
    const bool empty = batch.entries.empty() && batch.points.empty() && batch.passed_over.empty() &&
                       batch.unjournalled.empty();
    if (empty) {
      engine.committed();
      return {};
    }
    if (auto ok = store.append(batch); !ok) return ok;
    observed = {};
    passed_over = {};
    reports = {};
    fold(pending.batch.entries);
    engine.committed();
    wakeups.take(pending.news, now);
    for (const auto& tell : pending.tell) tell({});
    return {};
  }

  Result<void> refuse(Pending& pending, Time now, const Error& error) {
    spdlog::error("{} {}", error.message, error.hint);
    for (const auto& tell : pending.tell) tell(fail(error));
    if (admission) admission->drop_from(state.next_job_id());
    for (const auto& key : state.active()) watch(state.job(key.job));
    retry_at = now + kStorageRetry;
    act();
    return fail(error);
  }

  void fold(const std::vector<Entry>& entries) {
    std::vector<JobId> list;
    for (const Entry& entry : entries) {
      const auto* event = std::get_if<Event>(&entry.body);
      if (event) drains.follow(*event, entry.at);
      node_came = node_came || (event && std::holds_alternative<NodeUp>(*event));
      const auto now_touched = apply(state, entry);
      list.insert(list.end(), now_touched.begin(), now_touched.end());
      if (event && desk.follow(*event)) wakeups.line_up(*desk.lineup());
      if (retiring) retiring->follow(state, entry);
    }
    sort_once(list);
    for (const JobId id : list) watch(state.job(id));
    if (admission) admission->follow(state, list);
    if (forgetting) forgetting->follow(state, list);
    prospects.follow(list);
    touched.insert(touched.end(), list.begin(), list.end());
    unsaved.insert(list.begin(), list.end());
    unsaved_entries += entries.size();
    if (!entries.empty()) {
      unsaid_began.reset();
      quiet_round.reset();
    }
    shadow.take(entries, state);
    for (std::size_t i = 0; i < listeners.size(); ++i)
      if (const auto listener = listeners[i].lock()) (*listener)(entries, list);
    for (const Entry& entry : entries)
      if (const auto* left = forgotten_by(entry)) forgot(left->jobs, entry.at);
  }

  void forgot(std::span<const JobId> jobs, Time now) {
    if (forgetting) forgetting->forgot(jobs, now);
    if (upkeep) upkeep->forgot(now);
  }

  // ---- the round ----
  Result<void> round(Time now) {
    wakeups.begin(now);
    Lineup::Decision decision;
    const Batch batch = decide_batch(decision, now);
    engine.await_saves(wakeups.awaited_saves());
    if (batch.entries.empty()) {
      shadow.round({state, now}, {});
      return {};
    }
    if (auto ok = store.append(batch); !ok) {
      spdlog::error("{} {}", ok.error().message, ok.error().hint);
      wakeups.want();
      return ok;
    }
    desk.count(decision, changes_of(batch));
    shadow.round({state, now}, changes_of(batch));
    fold(batch.entries);
    return {};
  }

  static std::span<const Change> changes_of(const Batch& batch) {
    for (const Entry& entry : batch.entries) {
      if (const auto* plan = std::get_if<Plan>(&entry.body)) return plan->changes;
    }
    return {};
  }

  // The round's plan; before it the failures of scripts that could not make one, and after it the
  // successor of one that failed too often.
  Batch decide_batch(Lineup::Decision& decision, Time now) {
    const Snapshot snapshot{state, now};
    Draft draft(snapshot, *placer, protects);
    std::vector<std::string> wrong;
    auto decided = decide(
        draft,
        [&](const Snapshot& present, Draft& into) {
          decision = desk.lineup()->choose(present, into);
          return Result<void>{};
        },
        &wrong);
    if (wrong != left_out && !wrong.empty())
      spdlog::error("{}: parts of its plan are left out: {}", decision.by->name,
                    fmt::join(wrong, "; "));
    left_out = std::move(wrong);
    wakeups.end(draft.awaited());
    Batch batch;
    const auto add = [&](std::variant<Event, Plan> body) { append(batch, std::move(body), now); };
    for (const auto& [name, error] : decision.failures) add(PolicyFailed{name, error.message});
    Plan plan = recorded(std::move(decided), decision.by->name);
    const bool says = !plan.changes.empty() || !plan.memo.empty() || !plan.dropped.empty() ||
                      !plan.counted_anew.empty() || !plan.asked.empty();
    if (says) add(std::move(plan));
    if (auto successor = desk.successor(decision)) add(std::move(*successor));
    return batch;
  }

  [[nodiscard]] Plan recorded(Result<Plan> plan, const std::string& by) const {
    if (!plan) {
      spdlog::error("{}: {}", by, plan.error().message);
      return {};
    }
    plan->policy = by;
    plan->build = options.build;
    return std::move(*plan);
  }

  void act() {
    if (!std::exchange(node_came, false) && touched.empty()) return;
    auto jobs = std::exchange(touched, {});
    sort_once(jobs);
    engine.act(state, jobs);
  }

  // ---- keeping ----
  Result<void> checkpoint_if_due(Time now) {
    const bool many = unsaved_entries >= options.checkpoint_entries;
    const bool late = unsaved_entries > 0 && now - last_checkpoint >= options.checkpoint_every;
    return many || late ? checkpoint() : Result<void>{};
  }

  Result<void> checkpoint() {
    std::vector<JobId> jobs(unsaved.begin(), unsaved.end());
    sort_once(jobs);
    last_checkpoint = clock.now();
    if (prospects.take_changed()) options.keep_grades(prospects.grades().text());
    if (auto ok = store.checkpoint(state, jobs); !ok) {
      spdlog::warn("{} {}", ok.error().message, ok.error().hint);
      return ok;
    }
    if (admission) admission->forget_launches(state, jobs);
    unsaved.clear();
    unsaved_entries = 0;
    if (upkeep) upkeep->checkpointed(last_checkpoint);
    return {};
  }

  Result<void> recover() {
    auto loaded = store.load();
    if (!loaded) return fail(loaded.error());
    state = std::move(*loaded);
    prospects.resume(options.read_grades());
    clock.resume(state.at(), state.boot());
    limits_from = clock.now() + options.hear_out;
    last_checkpoint = clock.now();
    unsaid_began = Began{options.build,
                         options.policy,
                         options.placement,
                         options.coalesce,
                         options.protects,
                         registry.patience().text(),
                         limits_from - state.at(),
                         options.fold_rules};
    if (auto ok = complete(); !ok) return ok;
    shadow.resume(state, clock.now());
    if (retiring) retiring->begin(state, clock.now(), limits_from);
    std::vector<JobId> live;
    for (const auto& key : state.queue()) {
      live.push_back(key.job);
      watch(state.job(key.job));
    }
    wakeups.want();
    touched.clear();
    sort_once(live);
    if (admission) admission->follow(state, live);
    follow_ended();
    if (upkeep) {
      upkeep->forgot(clock.now());
      upkeep->checkpointed(clock.now());
    }
    engine.act(state, live);
    return {};
  }

  void follow_ended() {
    if (!forgetting) return;
    std::vector<JobId> jobs;
    for (const Job& job : state.jobs()) jobs.push_back(job.id);
    forgetting->follow(state, jobs);
  }

  // A policy and the rules where the journal has none, and what jobs said last before the server
  // ended: all of one time, as a replay takes it for what was written before the first step.
  Result<void> complete() {
    auto policy = desk.recover();
    if (!policy) return fail(policy.error());
    if (desk.lineup()) wakeups.line_up(*desk.lineup());
    auto said = store.unjournalled();
    if (!said) return fail(said.error());
    std::vector<Event> lacks;
    if (*policy) lacks.emplace_back(std::move(**policy));
    if (const Rules rules = rules_now(); rules != state.rules())
      lacks.emplace_back(RulesSet{rules});
    unsaid_began->recovered = lacks.size() + said->size();
    const Time now = clock.now();
    for (Event& event : lacks)
      if (auto ok = note({std::move(event)}, now); !ok) return ok;
    return note({said->begin(), said->end()}, now);
  }

  Result<void> note(std::vector<Event> events, Time now) {
    Pending pending;
    for (Event& event : events) add(pending, std::move(event), now);
    return events.empty() ? Result<void>{} : commit(pending, now);
  }

  [[nodiscard]] const Rules& rules_now() const {
    if (options.rules.reclaim_after) return options.rules;
    return state.rules().reclaim_after ? state.rules() : options.unsaid_rules;
  }

  std::function<Result<State>()> reader() {
    if (options.read_beside) return options.read_beside;
    return [this] { return store.load(); };
  }

  Explanation& explain() {
    const auto second =
        std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch()).count();
    const std::pair key{state.seq(), second};
    if (!explanation || explained != key) {
      explanation.emplace(Snapshot{state, clock.now()}, desk.lineup(), *placer, protects,
                          options.coming());
      explained = key;
    }
    return *explanation;
  }

  Store& store;
  Engine& engine;
  Clock& clock;
  const PolicyRegistry& registry;
  Options options;
  std::unique_ptr<Placer> placer;
  const Protects protects = options.protects ? Protects::yes : Protects::no;
  Shadow shadow{{registry, *placer, protects, options.policy, reader()}};
  State state;
  Wakeups wakeups{state, protects, options.coalesce};
  Policies desk{{state, registry, *placer, protects, shadow, options.policy,
                 [this] { return clock.now(); },
                 [this](Event event, std::map<std::string, std::string> memo, Done<void> done) {
                   take(EventCommand{std::move(event), std::move(done), std::move(memo)});
                 }}};
  Drains drains{{state, clock, desk, *placer, protects, [this](Event event, Done<void> done) {
                   take(EventCommand{std::move(event), std::move(done)});
                 }}};
  Prospects prospects{{state, clock, registry, *placer, protects, options.policy,
                       [this] { return options.coming(); }}};
  TimeLimits limits, newcomers;
  Time limits_from;  // not held before
  std::optional<Admission> admission;
  std::optional<Thinning> thinning;
  std::optional<ReportSpacing> spacing;
  std::optional<Forgetting> forgetting;
  std::optional<Retiring> retiring;
  std::optional<Upkeep> upkeep;

  std::vector<Command> commands;
  Observed observed;                    // told by the engine, not durable yet
  std::vector<PassedOver> passed_over;  // of it
  ReportSpacing::Spaced reports;        // of it, and what waited
  bool behind = false;         // the engine may have more, of which it has told already that it has
  std::vector<JobId> touched;  // to act on; perhaps several times
  bool node_came = false;      // where others are, jobs need more of their own nodes
  std::unordered_set<JobId> unsaved;  // since the last checkpoint
  std::uint64_t unsaved_entries = 0;
  Time last_checkpoint;
  std::optional<Time> retry_at;
  std::optional<Began> unsaid_began;  // until an entry tells it
  std::optional<Time> quiet_round;    // the same
  std::vector<std::string> left_out;  // of the last round's plan, and why
  std::function<void()> wake;
  std::vector<std::weak_ptr<CommitListener>> listeners;

  std::optional<Explanation> explanation;
  std::pair<std::uint64_t, std::int64_t> explained;
};

Controller::Controller(Store& store, Engine& engine, Clock& clock, const PolicyRegistry& policies,
                       Options options)
    : impl_(std::make_unique<Impl>(store, engine, clock, policies, std::move(options))) {}

Controller::~Controller() = default;

Result<void> Controller::recover() { return impl_->recover(); }

void Controller::submit(Submission submission, Done<JobId> done) {
  impl_->take(SubmitCommand{std::move(submission), std::move(done)});
}

void Controller::request(JobId job, Request request, Principal by, Done<void> done) {
  if (auto ok = admit(impl_->state, job, request); !ok) return done(ok);
  impl_->take(EventCommand{JobRequested{job, request, std::move(by)}, std::move(done)});
}

void Controller::set_range(JobId job, WorkerRange range, Principal by, Done<void> done) {
  if (auto ok = admit(impl_->state, job, range, impl_->options.coming()); !ok) return done(ok);
  impl_->take(EventCommand{RangeSet{job, range, std::move(by)}, std::move(done)});
}

void Controller::set_rules(const Rules& rules, Principal by, Done<void> done) {
  if (auto ok = admit(rules); !ok) return done(ok);
  impl_->take(EventCommand{RulesSet{rules, std::move(by)}, std::move(done)});
}

Policies& Controller::desk() { return impl_->desk; }
Shadow& Controller::shadow() { return impl_->shadow; }
Drains& Controller::drains() { return impl_->drains; }

void Controller::node_left(std::string_view name) {
  const Node* node = impl_->state.find_node(name);
  if (node == nullptr) return;
  impl_->engine.left(name);
  if (impl_->retiring) impl_->retiring->left(*node, impl_->clock.now());
  if (impl_->wake) impl_->wake();
}

void Controller::node_joined(std::string_view name) {
  const Node* node = impl_->state.find_node(name);
  if (node != nullptr && impl_->retiring) impl_->retiring->joined(*node, impl_->clock.now());
}

Prospects& Controller::prospects() { return impl_->prospects; }
const State& Controller::state() const { return impl_->state; }
Time Controller::now() const { return impl_->clock.now(); }
WallTime Controller::wall() const { return impl_->clock.wall(); }
Store& Controller::store() const { return impl_->store; }
const PolicyRegistry& Controller::policies() const { return impl_->registry; }

// What is over depends on no policy: nothing is decided to tell it.
Reason Controller::reason(const Job& job, Viewer viewer) const {
  if (!is_over(job.state)) return impl_->explain().reason(job, viewer);
  const Snapshot snapshot{impl_->state, impl_->clock.now()};
  return Explanation(snapshot, nullptr, *impl_->placer, impl_->protects).reason(job, viewer);
}

std::uint64_t Controller::jobs_dropped() const {
  return impl_->upkeep ? impl_->upkeep->drops() : 0;
}

std::vector<std::string> Controller::why(const Job& job, Viewer viewer) const {
  return impl_->explain().lines(job, viewer);
}

std::optional<Waits> Controller::waits(const Job& job) const { return impl_->explain().waits(job); }

std::optional<std::size_t> Controller::position(const Job& job) const {
  const auto& waiting = impl_->state.waiting();
  const auto found = waiting.find(queue_key(job));
  if (found == waiting.end()) return std::nullopt;
  return static_cast<std::size_t>(std::distance(waiting.begin(), found)) + 1;
}

Result<void> Controller::step() {
  impl_->prospects.hand_on();
  return impl_->step();
}

std::optional<Time> Controller::next_due() const {
  std::optional<Time> due;
  const auto sooner = [&](std::optional<Time> at) {
    if (at && (!due || *at < *due)) due = at;
  };
  for (const TimeLimits* limits : {&impl_->limits, &impl_->newcomers})
    if (const auto at = limits->next()) sooner(std::max(*at, impl_->limits_from));
  sooner(impl_->wakeups.next(impl_->clock.now()));
  if (impl_->behind) sooner(impl_->clock.now());
  if (impl_->forgetting) sooner(impl_->forgetting->next());
  if (impl_->retiring) sooner(impl_->retiring->next());
  sooner(impl_->drains.next(impl_->clock.now()));
  if (impl_->spacing) sooner(impl_->spacing->next());
  if (impl_->upkeep) sooner(impl_->upkeep->next());
  if (impl_->unsaved_entries > 0) sooner(impl_->last_checkpoint + impl_->options.checkpoint_every);
  if (impl_->retry_at) due = impl_->retry_at;
  return due;
}

void Controller::on_wake(std::function<void()> wake) {
  impl_->wake = wake;
  impl_->engine.on_news(std::move(wake));
}

std::shared_ptr<void> Controller::on_commit(CommitListener listener) {
  auto& listeners = impl_->listeners;
  std::erase_if(listeners, [](const auto& each) { return each.expired(); });
  auto held = std::make_shared<CommitListener>(std::move(listener));
  listeners.push_back(held);
  return held;
}

Result<void> Controller::checkpoint() { return impl_->checkpoint(); }

}  // namespace paceline
