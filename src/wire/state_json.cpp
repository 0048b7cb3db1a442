#include "wire/state_json.hpp"

#include "plan/plan.hpp"
#include "wire/model_fields.hpp"

namespace paceline {

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Lease>& lease) {
  auto& [worker, ending] = lease;
  describe(fields, worker);
  fields("ending", ending);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Slot>& slot) {
  auto& [lease, promise, lent] = slot;
  fields("lease", lease)("promise", promise)("lent", lent);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Node>& node) {
  auto& [id, spec, up, slots, absent_since, retired, drain, off_by] = node;
  fields("id", id)("spec", spec)("up", up)("slots", slots);
  fields("absent_since", absent_since)("retired", retired)("drain", drain);
  fields.unless(std::string(), "off_by", off_by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicyPeriod>& period) {
  auto& [name, parameters, from, slot_seconds_leased, slot_seconds_available, lost] = period;
  fields("name", name)("parameters", parameters)("from", from);
  fields("slot_seconds_leased", slot_seconds_leased)("slot_seconds_available",
                                                     slot_seconds_available);
  fields("lost", lost);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicyScript>& script) {
  auto& [text, loaded_at, failure, failed_at] = script;
  fields("text", text)("loaded_at", loaded_at)("failure", failure)("failed_at", failed_at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicyTrial>& trial) {
  auto& [name, parameters, since] = trial;
  fields("name", name)("parameters", parameters)("since", since);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Worker>& worker) {
  auto& [seat, state, pid, ending, process, ready] = worker;
  fields("seat", seat)("state", state)("pid", pid)("ending", ending)("process", process);
  fields.unless(false, "ready", ready);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Stop>& stop) {
  auto& [cause, at, grace, beneficiary] = stop;
  fields("cause", cause)("at", at)("grace_seconds", grace)("beneficiary", beneficiary);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Asked>& asked) {
  auto& [by, since] = asked;
  fields("by", by)("since", since);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Gang>& gang) {
  auto& [generation, attempt, workers, formed_at, started_at, stop, lent_at, unsaved, asked,
         warnings, in_place, joins_failed, failed, waits] = gang;
  fields("generation", generation)("attempt", attempt)("workers", workers);
  fields("formed_at", formed_at)("started_at", started_at)("stop", stop)("lent_at", lent_at);
  fields.unless(Duration::zero(), "unsaved_seconds", unsaved);
  fields("asked", asked);
  fields.unless({}, "warnings", warnings).unless(false, "in_place", in_place);
  fields.unless(0, "joins_failed", joins_failed).unless(false, "failed", failed);
  fields.unless(false, "waits", waits);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Parting>& parting) {
  auto& [process, worker, stop, joined] = parting;
  fields("process", process)("worker", worker)("stop", stop).unless(false, "joined", joined);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Bill>& bill) {
  auto& [preemption, resize, failure] = bill;
  fields("preemption", preemption)("resize", resize)("failure", failure);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PlanBill>& bill) {
  auto& [round, policy, at, lost] = bill;
  fields("round", round)("policy", policy)("at", at)("lost", lost);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ClockMark>& mark) {
  auto& [from, ahead] = mark;
  fields("from", from)("ahead_seconds", ahead);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RanAt>& part) {
  auto& [workers, span] = part;
  fields("workers", workers)("seconds", span);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, SpeedPoint>& point) {
  auto& [workers, nodes, device, rate, variance, reports] = point;
  fields("workers", workers)("nodes", nodes)("device", device)("rate", rate);
  fields("variance", variance)("reports", reports);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, SpeedMark>& mark) {
  auto& [generation, at, work] = mark;
  fields("generation", generation)("at", at)("work", work);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NameHistory>& history) {
  auto& [completed, seconds, last] = history;
  fields("completed", completed)("seconds", seconds)("last", last);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, TargetStatus>& target) {
  auto& [delivered_at, reached_at] = target;
  fields("delivered_at", delivered_at)("reached_at", reached_at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RefusedStart>& refused) {
  auto& [times, why] = refused;
  fields("times", times)("why", why);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Job>& job) {
  auto& [id, spec, range, pinned, state, held, current, forming, parting, last_generation, attempt,
         retries_used, quick_failures, refused, resizes, preemptions, submitted_at, eligible_at,
         started_at, ended_at, last_resized_at, paused_at, waiting_since, changed_at, waited, ran,
         paused, leased, slot_seconds, service_from, bill, ran_at, saved_at, told_at, usual_length,
         speeds, speed_mark, resize_pause, resize_pauses, in_place_pause, in_place_pauses, progress,
         checkpoint, kept, kept_at, model, target, ending, last_change, last_changed_at, dropped] =
      job;
  fields("id", id)("spec", spec)("range", range)("pinned", pinned)("state", state)("held", held);
  fields("current", current)("forming", forming)("last_generation", last_generation);
  fields("attempt", attempt)("retries_used", retries_used)("quick_failures", quick_failures);
  fields.unless({}, "refused", refused);
  fields("resizes", resizes)("preemptions", preemptions);
  fields("submitted_at", submitted_at)("eligible_at", eligible_at)("started_at", started_at);
  fields("ended_at", ended_at)("last_resized_at", last_resized_at)("paused_at", paused_at);
  fields("waiting_since", waiting_since);
  fields("ran_at", ran_at)("saved_at", saved_at)("usual_length_seconds", usual_length);
  fields.unless({}, "told_at", told_at);
  fields("speeds", speeds)("speed_mark", speed_mark)("resize_pause", resize_pause);
  fields("resize_pauses", resize_pauses)("dropped", dropped);
  fields.unless({}, "parting", parting).unless(0.0, "in_place_pause", in_place_pause);
  fields.unless(0, "in_place_pauses", in_place_pauses);
  fields("changed_at", changed_at)("waited_seconds", waited)("ran_seconds", ran);
  fields("paused_seconds", paused)("leased", leased)("slot_seconds", slot_seconds);
  fields.unless(0.0, "service_from", service_from);
  fields("bill", bill)("progress", progress)("checkpoint", checkpoint)("target", target);
  fields.unless({}, "kept", kept).unless({}, "kept_at", kept_at).unless({}, "model", model);
  fields("ending", ending)("last_change", last_change)("last_changed_at", last_changed_at);
}

// Learned figures, each under what it is a figure of.
template <class Key>
struct Figure {
  Key of;
  Mean mean;
};

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Figure<Shape>>& figure) {
  auto& [name, model, workers, nodes] = figure.of;
  auto& [value, count, seq] = figure.mean;
  fields("name", name)("model", model)("workers", workers)("nodes", nodes);
  fields("value", value)("count", count)("seq", seq);
}

using NamePair = std::pair<std::string, std::string>;

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Figure<NamePair>>& figure) {
  auto& [name, beside] = figure.of;
  auto& [value, count, seq] = figure.mean;
  fields("name", name)("beside", beside)("value", value)("count", count)("seq", seq);
}

template <class Key>
struct Form<std::map<Key, Mean>> {
  using Map = std::map<Key, Mean>;
  static bool left_out(const Map& value) { return value.empty(); }
  static void write(JsonWriter& json, const Map& value) {
    std::vector<Figure<Key>> figures;
    for (const auto& [of, mean] : value) figures.push_back({of, mean});
    write_form(json, figures);
  }
  static void read(JsonScanner& in, Map& value) {
    std::vector<Figure<Key>> figures;
    Form<std::vector<Figure<Key>>>::read(in, figures);
    for (const auto& [of, mean] : figures) value.emplace(of, mean);
  }
};

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Interference>& interference) {
  auto& [alone, pairs] = interference;
  fields("alone", alone)("pairs", pairs);
}

// Of the table the header holds how many ids were given: its jobs are stored on their own.
template <>
struct Form<JobTable> {
  static bool left_out(const JobTable& value) { return value.given() == 0; }
  static void write(JsonWriter& json, const JobTable& value) { json.value(value.given()); }
  static void read(JsonScanner& in, JobTable& value) {
    std::uint32_t given = 0;
    Form<std::uint32_t>::read(in, given);
    if (given > kJobIdMax) return in.fail("so many jobs were never submitted");
    value.give(given);
  }
};

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ForgottenSums>& sums) {
  auto& [completed, failed, timeout, cancelled, waited, slot_seconds, lost] = sums;
  fields("completed", completed)("failed", failed)("timeout", timeout)("cancelled", cancelled);
  fields("waited_seconds", waited)("slot_seconds", slot_seconds)("lost", lost);
}

// Everything but nodes and jobs, which are stored on their own.
template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, StateParts>& parts) {
  [[maybe_unused]] auto& [seq, round, at, nodes, jobs, periods, memo, scripts, names, interference,
                          trial, bills, rules, clock_marks, boot, forgotten, fold_rules] = parts;
  fields("seq", seq)("round", round)("at", at)("periods", periods)("memo", memo);
  fields("scripts", scripts)("names", names);
  fields.unless(Interference{}, "interference", interference);
  fields("trial", trial)("bills", bills)("clock_marks", clock_marks)("boot", boot);
  fields.unless(Rules{}, "rules", rules);
  fields("jobs_given", jobs)("forgotten", forgotten);
  fields.unless(kFirstFoldRules, "fold_rules", fold_rules);
}

void write_state_header(JsonWriter& json, const StateParts& parts) { write_form(json, parts); }
void write_stored_node(JsonWriter& json, const Node& node) { write_form(json, node); }
void write_stored_job(JsonWriter& json, const Job& job) { write_form(json, job); }

Result<StateParts> read_state_header(std::string_view text) { return read_form<StateParts>(text); }
Result<Node> read_stored_node(std::string_view text) { return read_form<Node>(text); }
Result<Job> read_stored_job(std::string_view text) {
  auto job = read_form<Job>(text);
  if (job && (job->id.value < 1 || job->id.value > kJobIdMax))
    return fail(ErrorCode::data, "no job has such an id");
  return job;
}

void write_values(JsonWriter& json, const std::map<std::string, double>& values) {
  write_form(json, values);
}
Result<std::map<std::string, double>> read_values(std::string_view text) {
  return read_form<std::map<std::string, double>>(text);
}

}  // namespace paceline
