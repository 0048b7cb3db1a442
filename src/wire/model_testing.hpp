// For tests: random values of every noun that is stored, and equality of jobs and states through
// their pointers.
//
//   Rng rng(seed);
//   const auto entry = random_value<Entry>(rng);
#pragma once

#include <cmath>
#include <concepts>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.hpp"
#include "base/rng.hpp"
#include "base/time.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"
#include "wire/words.hpp"

namespace paceline {

template <class T>
T random_value(Rng& rng);

// ---- numbers and text; every so often an extreme one ----

inline void randomize(Rng& rng, bool& value) { value = rng.chance(0.5); }

template <std::integral T>
requires(!std::same_as<T, bool>) void randomize(Rng& rng, T& value) {
  const T extremes[] = {T{}, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  value = rng.chance(0.3) ? extremes[rng.below(3)] : static_cast<T>(rng.next() >> rng.below(64));
}

inline void randomize(Rng& rng, double& value) {
  const double extremes[] = {0.0,    -0.0,    0.1,  1e300,
                             5e-324, 1.0 / 3, 1e23, std::numeric_limits<double>::infinity()};
  value = rng.chance(0.4) ? extremes[rng.below(8)]
                          : std::ldexp(rng.uniform() - 0.5, static_cast<int>(rng.between(-60, 60)));
}

inline void randomize(Rng& rng, std::string& value) {
  constexpr std::string_view kPieces[] = {"a",    "Z9", "/",  "\"", "\\", "\n", "\x01",
                                          "\x7F", "é",  "日", "😀",  " ",  "{}", ",:"};
  value.clear();
  for (auto pieces = rng.below(12); pieces > 0; --pieces)
    value += kPieces[rng.below(std::size(kPieces))];
}

inline void randomize(Rng& rng, Duration& value) {
  value = Duration{random_value<std::int64_t>(rng)};
}
inline void randomize(Rng& rng, Time& value) {
  value = time_from_us(random_value<std::int64_t>(rng));
}
inline void randomize(Rng& rng, WallTime& value) {
  value = wall_from_us(random_value<std::int64_t>(rng));
}

template <class Tag, class Rep>
void randomize(Rng& rng, Id<Tag, Rep>& id) {
  randomize(rng, id.value);
}

template <class E>
requires std::is_enum_v<E>
void randomize(Rng& rng, E& value) {
  value = static_cast<E>(rng.below(static_cast<std::uint64_t>(kLast<E>) + 1));
}

// ---- containers, up to four elements ----

template <class T>
void randomize(Rng& rng, std::optional<T>& value) {
  value = rng.chance(0.5) ? std::optional(random_value<T>(rng)) : std::nullopt;
}

template <class T>
void randomize(Rng& rng, std::shared_ptr<const T>& value) {
  value = std::make_shared<const T>(random_value<T>(rng));
}

template <class T>
void randomize(Rng& rng, std::vector<T>& value) {
  value.resize(rng.below(5));
  for (auto& each : value) randomize(rng, each);
}

template <class T>
void randomize(Rng& rng, std::deque<T>& value) {
  value.resize(rng.below(5));
  for (auto& each : value) randomize(rng, each);
}

template <class T>
void randomize(Rng& rng, std::map<std::string, T>& value) {
  value.clear();
  for (auto count = rng.below(5); count > 0; --count)
    value[random_value<std::string>(rng)] = random_value<T>(rng);
}

template <class A, class B>
void randomize(Rng& rng, std::pair<A, B>& value) {
  value = {random_value<A>(rng), random_value<B>(rng)};
}

template <class... Each>
void randomize_all(Rng& rng, Each&... each) {
  (randomize(rng, each), ...);
}

// ---- the nouns ----

inline void randomize(Rng& rng, ProcessKey& value) {
  auto& [job, born, number] = value;
  randomize_all(rng, job, born, number);
}
inline void randomize(Rng& rng, SlotSpec& value) {
  auto& [kind, model, uuid, memory_bytes, usable, note, island, numa] = value;
  randomize_all(rng, kind, model, uuid, memory_bytes, island, numa, usable, note);
}
inline void randomize(Rng& rng, Refusal& value) {
  auto& [why, until, unhealthy] = value;
  randomize_all(rng, why, until, unhealthy);
}
inline void randomize(Rng& rng, PortRange& value) {
  auto& [first, end] = value;
  randomize_all(rng, first, end);
}
inline void randomize(Rng& rng, NodeSpec& value) {
  auto& [name, address, rack, cpus, memory_bytes, slots, above, labels, refusal, machine, ports,
         only_user, strangers, lease, reach_port, reach_nonce, keeps] = value;
  randomize_all(rng, name, address, rack, above, labels, cpus, memory_bytes, slots, refusal, ports,
                machine, only_user, strangers, lease, reach_port, reach_nonce, keeps);
}
inline void randomize(Rng& rng, WorkerRange& value) {
  auto& [min, max, want] = value;
  randomize_all(rng, min, max, want);
}
inline void randomize(Rng& rng, Target& value) {
  auto& [metric, direction, deliver, final] = value;
  randomize_all(rng, metric, direction, deliver, final);
}
inline void randomize(Rng& rng, Notice& value) {
  auto& [signal, grace] = value;
  randomize_all(rng, signal, grace);
}
inline void randomize(Rng& rng, Mesh& value) {
  auto& [tensor, pipeline] = value;
  randomize_all(rng, tensor, pipeline);
}
inline void randomize(Rng& rng, Affinity& value) {
  auto& [anti, to, name, label, reach, give_up_after] = value;
  randomize_all(rng, anti, to, name, label, reach, give_up_after);
}
inline void randomize(Rng& rng, JobSpec& value) {
  auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc,
         notice, on_disconnect, store] = value;
  randomize_all(rng, a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  randomize_all(rng, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, notice, on_disconnect);
  randomize(rng, store);
}
inline void randomize(Rng& rng, Seat& value) {
  auto& [node, slots] = value;
  randomize_all(rng, node, slots);
}
inline void randomize(Rng& rng, Ending& value) {
  auto& [cause, exit_code, signal, message, at] = value;
  randomize_all(rng, cause, exit_code, signal, message, at);
}
inline void randomize(Rng& rng, CheckpointPlace& value) {
  auto& [node, inside, by, report, ship, unkept] = value;
  randomize_all(rng, node, inside, by, report, ship, unkept);
}
inline void randomize(Rng& rng, Checkpoint& value) {
  auto& [path, step, samples, acknowledged_at, place] = value;
  randomize_all(rng, path, step, samples, acknowledged_at, place);
}
inline void randomize(Rng& rng, PublishedModel& value) {
  auto& [node, path, sha256, bytes, step, samples, published_at] = value;
  randomize_all(rng, node, path, sha256, bytes, step, samples, published_at);
}
inline void randomize(Rng& rng, ResumeAudit& value) {
  auto& [agrees, text] = value;
  randomize_all(rng, agrees, text);
}
inline void randomize(Rng& rng, Progress& value) {
  auto& [a, b, c, d, e, f, g, h, metrics, reported_at, resume] = value;
  randomize_all(rng, a, b, c, d, e, f, g, h, metrics, reported_at, resume);
}
inline void randomize(Rng& rng, Reason& value) {
  auto& [code, numbers, text] = value;
  randomize_all(rng, code, numbers, text);
}
inline void randomize(Rng& rng, Survivor& value) {
  auto& [process, rank] = value;
  randomize_all(rng, process, rank);
}
inline void randomize(Rng& rng, Change& value) {
  auto& [kind, job, generation, placement, reason, trade, beneficiary, survivors] = value;
  randomize_all(rng, kind, job, generation, placement, reason, trade, beneficiary, survivors);
}
inline void randomize(Rng& rng, Dropped& value) {
  auto& [job, reason] = value;
  randomize_all(rng, job, reason);
}
inline void randomize(Rng& rng, Asking& value) {
  auto& [job, by, until] = value;
  randomize_all(rng, job, by, until);
}
inline void randomize(Rng& rng, Plan& value) {
  auto& [round, policy, build, changes, memo, dropped, counted_anew, asked] = value;
  randomize_all(rng, round, policy, build, changes, memo, dropped, counted_anew, asked);
}
inline void randomize(Rng& rng, Rules& value) {
  auto& [reclaim_after] = value;
  randomize(rng, reclaim_after);
}
inline void randomize(Rng& rng, Lease& value) {
  auto& [worker, ending] = value;
  randomize_all(rng, worker, ending);
}
inline void randomize(Rng& rng, Slot& value) {
  auto& [lease, promise, lent] = value;
  randomize_all(rng, lease, promise, lent);
}
inline void randomize(Rng& rng, Principal& value) {
  auto& [user, uid, roles, known_by] = value;
  randomize_all(rng, user, uid, roles, known_by);
}
inline void randomize(Rng& rng, DrainOrder& value) {
  auto& [reason, from, until, within, keeps, limit] = value;
  randomize_all(rng, reason, from, until, within, keeps, limit);
}
inline void randomize(Rng& rng, Drain& value) {
  auto& [order, by, begun_at] = value;
  randomize_all(rng, order, by, begun_at);
}
inline void randomize(Rng& rng, Node& value) {
  auto& [id, spec, up, slots, absent_since, retired, drain, off_by] = value;
  randomize_all(rng, id, spec, up, slots, absent_since, retired, drain, off_by);
}
inline void randomize(Rng& rng, PolicyPeriod& value) {
  auto& [name, parameters, from, leased, available, lost] = value;
  randomize_all(rng, name, parameters, from, leased, available, lost);
}
inline void randomize(Rng& rng, PolicyScript& value) {
  auto& [text, loaded_at, failure, failed_at] = value;
  randomize_all(rng, text, loaded_at, failure, failed_at);
}
inline void randomize(Rng& rng, PolicyTrial& value) {
  auto& [name, parameters, since] = value;
  randomize_all(rng, name, parameters, since);
}
inline void randomize(Rng& rng, Worker& value) {
  auto& [seat, state, pid, ending, process, ready] = value;
  randomize_all(rng, seat, state, pid, ending, process, ready);
}
inline void randomize(Rng& rng, Stop& value) {
  auto& [cause, at, grace, beneficiary] = value;
  randomize_all(rng, cause, at, grace, beneficiary);
}
inline void randomize(Rng& rng, Asked& value) {
  auto& [by, since] = value;
  randomize_all(rng, by, since);
}
inline void randomize(Rng& rng, Gang& value) {
  auto& [generation, attempt, workers, formed_at, started_at, stop, lent_at, unsaved, asked,
         warnings, in_place, joins_failed, failed, waits] = value;
  randomize_all(rng, generation, attempt, workers, formed_at, started_at, stop, lent_at, unsaved,
                asked, warnings, in_place, joins_failed, failed, waits);
}
inline void randomize(Rng& rng, Parting& value) {
  auto& [process, worker, stop, joined] = value;
  randomize_all(rng, process, worker, stop, joined);
}
inline void randomize(Rng& rng, Bill& value) {
  auto& [preemption, resize, failure] = value;
  randomize_all(rng, preemption, resize, failure);
}
inline void randomize(Rng& rng, PlanBill& value) {
  auto& [round, policy, at, lost] = value;
  randomize_all(rng, round, policy, at, lost);
}
inline void randomize(Rng& rng, TargetStatus& value) {
  auto& [delivered_at, reached_at] = value;
  randomize_all(rng, delivered_at, reached_at);
}
inline void randomize(Rng& rng, RanAt& value) { randomize_all(rng, value.workers, value.span); }
inline void randomize(Rng& rng, SpeedPoint& value) {
  auto& [workers, nodes, device, rate, variance, reports] = value;
  randomize_all(rng, workers, nodes, device, rate, variance, reports);
}
inline void randomize(Rng& rng, SpeedMark& value) {
  randomize_all(rng, value.generation, value.at, value.work);
}
inline void randomize(Rng& rng, NameHistory& value) {
  randomize_all(rng, value.completed, value.seconds, value.last);
}
inline void randomize(Rng& rng, RefusedStart& value) {
  auto& [times, why] = value;
  randomize_all(rng, times, why);
}
inline void randomize(Rng& rng, Job& value) {
  auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac,
         ad, ae, af, ag, ah, ai, aj, ak, al, am, an, ao, ap, aq, ar, as, at, au, av, aw, ax, ay] =
      value;
  randomize_all(rng, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  randomize_all(rng, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af, ag);
  randomize_all(rng, ah, ai, aj, ak, al, am, an, ao, ap, aq, ar, as, at, au, av, aw, ax, ay);
}
inline void randomize(Rng& rng, Mean& value) {
  auto& [mean, count, seq] = value;
  randomize_all(rng, mean, count, seq);
}
inline void randomize(Rng& rng, Shape& value) {
  auto& [name, model, workers, nodes] = value;
  randomize_all(rng, name, model, workers, nodes);
}
inline void randomize(Rng& rng, ClockMark& value) {
  auto& [from, ahead] = value;
  randomize_all(rng, from, ahead);
}
inline void randomize(Rng& rng, Boot& value) {
  auto& [id, at] = value;
  randomize_all(rng, id, at);
}
inline void randomize(Rng& rng, ForgottenSums& value) {
  auto& [completed, failed, timeout, cancelled, waited, slot_seconds, lost] = value;
  randomize_all(rng, completed, failed, timeout, cancelled, waited, slot_seconds, lost);
}
inline void randomize(Rng& rng, StateParts& value) {
  auto& [seq, round, at, nodes, jobs, periods, memo, scripts, names, interference, trial, bills,
         rules, clock_marks, boot, forgotten, fold_rules] = value;
  randomize_all(rng, seq, round, at, nodes, periods, memo, scripts, names, trial, bills, rules,
                clock_marks, boot, forgotten, fold_rules);
  for (auto n = rng.below(4); n > 0; --n) {
    Job job = random_value<Job>(rng);
    job.id = JobId{static_cast<std::uint32_t>(1 + rng.below(1'000))};
    jobs.put(std::move(job));
  }
  for (auto n = rng.below(4); n > 0; --n) {
    randomize(rng, interference.alone[random_value<Shape>(rng)]);
    const auto name = random_value<std::string>(rng), beside = random_value<std::string>(rng);
    randomize(rng, interference.pairs[{name, beside}]);
  }
}

template <std::size_t i = 0>
Event random_event(Rng& rng, std::size_t kind) {
  using Alternative = std::variant_alternative_t<i, Event>;
  if (kind == i) return random_value<Alternative>(rng);
  if constexpr (i + 1 < std::variant_size_v<Event>) return random_event<i + 1>(rng, kind);
  return {};
}
inline void randomize(Rng& rng, NodeUp& value) { randomize_all(rng, value.node, value.spec); }
inline void randomize(Rng& rng, NodeDown& value) { randomize(rng, value.node); }
inline void randomize(Rng& rng, JobSubmitted& value) { randomize_all(rng, value.job, value.spec); }
inline void randomize(Rng& rng, JobRequested& value) {
  auto& [job, request, by] = value;
  randomize_all(rng, job, request, by);
}
inline void randomize(Rng& rng, RangeSet& value) {
  randomize_all(rng, value.job, value.range, value.by);
}
inline void randomize(Rng& rng, PolicyLoaded& value) {
  auto& [name, text, by] = value;
  randomize_all(rng, name, text, by);
}
inline void randomize(Rng& rng, PolicyFailed& value) {
  auto& [name, why] = value;
  randomize_all(rng, name, why);
}
inline void randomize(Rng& rng, JobsForgotten& value) { randomize(rng, value.jobs); }
inline void randomize(Rng& rng, NodesRetired& value) { randomize(rng, value.nodes); }
inline void randomize(Rng& rng, NodeDrained& value) {
  auto& [node, order, by] = value;
  randomize_all(rng, node, order, by);
}
inline void randomize(Rng& rng, DrainBegan& value) { randomize(rng, value.node); }
inline void randomize(Rng& rng, NodeOff& value) { randomize_all(rng, value.node, value.by); }
inline void randomize(Rng& rng, NodeUndrained& value) { randomize_all(rng, value.node, value.by); }
inline void randomize(Rng& rng, JournalAccepted& value) {
  auto& [lost, generation] = value;
  randomize_all(rng, lost, generation);
}
inline void randomize(Rng& rng, ClockSet& value) {
  auto& [by, boot] = value;
  randomize_all(rng, by, boot);
}
inline void randomize(Rng& rng, TrialBegan& value) {
  auto& [name, parameters, by] = value;
  randomize_all(rng, name, parameters, by);
}
inline void randomize(Rng& rng, TrialEnded& value) {
  auto& [name, by] = value;
  randomize_all(rng, name, by);
}
inline void randomize(Rng& rng, RulesSet& value) { randomize_all(rng, value.rules, value.by); }
inline void randomize(Rng& rng, PolicySet& value) {
  randomize_all(rng, value.name, value.parameters, value.by);
}
inline void randomize(Rng& rng, WorkerStarted& value) {
  randomize_all(rng, value.worker, value.pid);
}
inline void randomize(Rng& rng, WorkerEnded& value) {
  randomize_all(rng, value.worker, value.ending, value.unseen);
}
inline void randomize(Rng& rng, CheckpointAcknowledged& value) {
  randomize_all(rng, value.job, value.generation, value.checkpoint);
}
inline void randomize(Rng& rng, CheckpointKept& value) {
  randomize_all(rng, value.job, value.checkpoint, value.keeping);
}
inline void randomize(Rng& rng, ModelPublished& value) {
  randomize_all(rng, value.job, value.generation, value.model);
}
inline void randomize(Rng& rng, Progressed& value) {
  randomize_all(rng, value.job, value.generation, value.report);
}
inline void randomize(Rng& rng, JobWarned& value) {
  randomize_all(rng, value.job, value.generation, value.warning, value.holds);
}
inline void randomize(Rng& rng, WorkerReady& value) {
  randomize_all(rng, value.worker, value.generation);
}
inline void randomize(Rng& rng, GangStands& value) {
  randomize_all(rng, value.job, value.generation);
}
inline void randomize(Rng& rng, NewcomersLate& value) {
  randomize(rng, value.job);
  randomize(rng, value.generation);
}
inline void randomize(Rng& rng, TimeLimitReached& value) { randomize(rng, value.job); }
inline void randomize(Rng& rng, Began& value) {
  randomize_all(rng, value.build, value.policy, value.placement, value.coalesce, value.protects,
                value.patience, value.hear_out, value.rules, value.recovered);
}
inline void randomize(Rng& rng, Entry& value) {
  randomize_all(rng, value.seq, value.at, value.began, value.quiet_round);
  constexpr auto kEvents = std::variant_size_v<Event>;
  const auto kind = rng.below(kEvents + 1);
  if (kind == kEvents) {
    value.body = random_value<Plan>(rng);
  } else {
    value.body = random_event(rng, kind);
  }
}

template <class T>
T random_value(Rng& rng) {
  T value{};
  randomize(rng, value);
  return value;
}

}  // namespace paceline
