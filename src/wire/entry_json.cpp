#include "wire/entry_json.hpp"

#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "wire/model_fields.hpp"

namespace paceline {

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeUp>& event) {
  auto& [node, spec] = event;
  fields("node", node)("spec", spec);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeDown>& event) {
  auto& [node] = event;
  fields("node", node);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JobSubmitted>& event) {
  auto& [job, spec] = event;
  fields("job", job)("spec", spec);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JobRequested>& event) {
  auto& [job, request, by] = event;
  fields("job", job)("request", request);
  if constexpr (std::is_same_v<Fields, FieldReader>) {
    std::optional<std::uint32_t> uid;  // all that older journals have of them
    fields("uid", uid);
    if (uid) {
      by = account(*uid);
      return;
    }
  }
  fields("by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RangeSet>& event) {
  auto& [job, range, by] = event;
  fields("job", job);
  describe(fields, range);
  fields.unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicySet>& event) {
  auto& [name, parameters, by] = event;
  fields("name", name)("parameters", parameters).unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicyLoaded>& event) {
  auto& [name, text, by] = event;
  fields("name", name)("text", text).unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PolicyFailed>& event) {
  auto& [name, why] = event;
  fields("name", name)("why", why);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, TrialBegan>& event) {
  auto& [name, parameters, by] = event;
  fields("name", name)("parameters", parameters).unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, TrialEnded>& event) {
  auto& [name, by] = event;
  fields("name", name).unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RulesSet>& event) {
  auto& [rules, by] = event;
  describe(fields, rules);
  fields.unless(Principal{}, "by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerStarted>& event) {
  auto& [worker, pid] = event;
  describe(fields, worker);
  fields("pid", pid);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerReady>& event) {
  auto& [worker, generation] = event;
  describe(fields, worker);
  fields("joins", generation);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, GangStands>& event) {
  auto& [job, generation] = event;
  fields("job", job)("generation", generation);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NewcomersLate>& event) {
  auto& [job, generation] = event;
  fields("job", job)("generation", generation);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerEnded>& event) {
  auto& [worker, ending, unseen] = event;
  describe(fields, worker);
  fields("ending", ending);
  fields.unless(Duration::zero(), "unseen_seconds", unseen);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CheckpointAcknowledged>& event) {
  auto& [job, generation, checkpoint] = event;
  fields("job", job)("generation", generation)("checkpoint", checkpoint);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CheckpointKept>& event) {
  auto& [job, checkpoint, keeping] = event;
  fields("job", job)("checkpoint", checkpoint)("keeping", keeping);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ModelPublished>& event) {
  auto& [job, generation, model] = event;
  fields("job", job)("generation", generation)("model", model);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Progressed>& event) {
  auto& [job, generation, report] = event;
  fields("job", job)("generation", generation)("progress", report);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JobWarned>& event) {
  auto& [job, generation, warning, holds] = event;
  fields("job", job)("generation", generation)("warning", warning)("holds", holds);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, TimeLimitReached>& event) {
  auto& [job] = event;
  fields("job", job);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ClockSet>& event) {
  auto& [by, boot] = event;
  fields("by_seconds", by)("boot", boot);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Survivor>& survivor) {
  auto& [process, rank] = survivor;
  fields("process", process)("rank", rank);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JobsForgotten>& event) {
  auto& [jobs] = event;
  fields("jobs", jobs);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JournalAccepted>& event) {
  auto& [lost, generation] = event;
  fields("lost", lost)("generation", generation);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodesRetired>& event) {
  auto& [nodes] = event;
  fields("nodes", nodes);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeDrained>& event) {
  auto& [node, order, by] = event;
  fields("node", node)("order", order)("by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, DrainBegan>& event) {
  auto& [node] = event;
  fields("node", node);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeUndrained>& event) {
  auto& [node, by] = event;
  fields("node", node)("by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeOff>& event) {
  auto& [node, by] = event;
  fields("node", node)("by", by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Change>& change) {
  auto& [kind, job, generation, placement, reason, trade, beneficiary, survivors] = change;
  fields("kind", kind)("job", job)("generation", generation)("placement", placement);
  describe(fields, reason);
  fields("trade", trade)("beneficiary", beneficiary)("survivors", survivors);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Dropped>& dropped) {
  auto& [job, reason] = dropped;
  fields("job", job);
  describe(fields, reason);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Asking>& asking) {
  auto& [job, by, until] = asking;
  fields("job", job)("by", by)("until", until);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Plan>& plan) {
  auto& [round, policy, build, changes, memo, dropped, counted_anew, asked] = plan;
  fields("round", round)("policy", policy)("build", build)("changes", changes)("memo", memo);
  fields("dropped", dropped).formerly("promoted", "counted_anew", counted_anew)("asked", asked);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Began>& began) {
  auto& [build, policy, placement, coalesce, protects, patience, hear_out, rules, recovered] =
      began;
  fields("build", build)("policy", policy)("placement", placement)("coalesce", coalesce);
  fields.formerly("temper", "protects", protects).unless("off", "patience", patience);
  fields.unless(Duration::zero(), "hear_out", hear_out).unless(kFirstFoldRules, "rules", rules);
  fields.unless(std::uint64_t{0}, "recovered", recovered);
}

namespace {

using Body = decltype(Entry::body);

// Of the events, in the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Event>> kEventKinds = {
    "node_up",          "node_down",          "job_submitted",
    "job_requested",    "range_set",          "policy_set",
    "worker_started",   "worker_ended",       "checkpoint_acknowledged",
    "progress",         "time_limit_reached", "policy_loaded",
    "policy_failed",    "trial_began",        "trial_ended",
    "rules_set",        "clock_set",          "jobs_forgotten",
    "journal_accepted", "nodes_retired",      "job_warned",
    "node_drained",     "drain_began",        "node_undrained",
    "worker_ready",     "gang_stands",        "newcomers_late",
    "model_published",  "checkpoint_kept",    "node_off"};
constexpr std::string_view kPlanKind = "plan";

void begin_entry(JsonWriter& json, const Entry& entry) {
  json.begin_object().field("seq", entry.seq).field("at", entry.at).field("kind", kind_of(entry));
}

void write_members(JsonWriter& json, const auto& value) {
  FieldWriter fields(json);
  describe(fields, value);
}

void write_members(JsonWriter& json, const Event& event) {
  std::visit([&](const auto& one) { write_members(json, one); }, event);
}

void write_change(JsonWriter& json, const Change& change) {
  json.begin_object();
  write_members(json, change);
  json.field("workers", change.placement.size()).field("reason", sentence(change.reason));
  json.end_object();
}

// A plan as people get it.
void write_shown(JsonWriter& json, const Plan& plan) {
  json.field("round", plan.round).field("policy", plan.policy).field("build", plan.build);
  json.key("asked").begin_array();
  for (const auto& asking : plan.asked) {
    json.begin_object().field("job", asking.job.value);
    json.field("by", asking.by ? std::optional(asking.by->value) : std::nullopt);
    json.field("stops_at", asking.until).end_object();
  }
  json.end_array().key("changes").begin_array();
  for (const auto& change : plan.changes) write_change(json, change);
  json.end_array();
}

// A script as people get it. Its text comes with the policy.
void write_shown(JsonWriter& json, const PolicyLoaded& event) {
  json.field("name", event.name).field("bytes", event.text.size());
  FieldWriter(json).unless(Principal{}, "by", event.by);
}

// What others may see of an event; nothing: not even that it happened.
std::optional<Event> public_part_of(Event event) {
  if (std::holds_alternative<Progressed>(event)) return {};
  if (std::holds_alternative<CheckpointAcknowledged>(event)) return {};
  if (std::holds_alternative<CheckpointKept>(event)) return {};
  if (std::holds_alternative<ModelPublished>(event)) return {};
  if (std::holds_alternative<JobWarned>(event)) return {};
  if (auto* submitted = std::get_if<JobSubmitted>(&event)) submitted->spec.checkpoint_glob.clear();
  if (auto* ended = std::get_if<WorkerEnded>(&event)) ended->ending.message.clear();
  return event;
}

template <std::size_t i>
Body read_event(JsonScanner& in, FieldReader& fields, std::string_view kind) {
  if constexpr (i == kEventKinds.size()) {
    in.fail("the kind '" + std::string(kind) + "' is unknown");
    return {};
  } else {
    if (kind != kEventKinds[i]) return read_event<i + 1>(in, fields, kind);
    std::variant_alternative_t<i, Event> event;
    describe(fields, event);
    return Event(std::move(event));
  }
}

Body read_body(JsonScanner& in, FieldReader& fields, std::string_view kind) {
  if (kind != kPlanKind) return read_event<0>(in, fields, kind);
  Plan plan;
  describe(fields, plan);
  return plan;
}

}  // namespace

std::string_view kind_of(const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  return event == nullptr ? kPlanKind : kEventKinds[event->index()];
}

void write_entry(JsonWriter& json, const Entry& entry) {
  begin_entry(json, entry);
  std::visit([&](const auto& body) { write_members(json, body); }, entry.body);
  FieldWriter fields(json);
  fields("began", entry.began)("quiet_round", entry.quiet_round);
  json.end_object();
}

std::string entry_text(const Entry& entry) {
  JsonWriter json;
  write_entry(json, entry);
  return json.take();
}

Result<Entry> read_entry(std::string_view text) {
  JsonScanner in(text);
  FieldReader fields(in);
  Entry entry;
  std::string kind;
  in.expect('{');
  fields("seq", entry.seq)("at", entry.at)("kind", kind);
  if (in.ok()) entry.body = read_body(in, fields, kind);
  if (in.ok()) fields("began", entry.began)("quiet_round", entry.quiet_round);
  in.expect('}').finish();
  if (!in.ok()) return fail(ErrorCode::data, in.problem());
  return entry;
}

// The fold wrote down when each tier was met: at the time of the entry that met it.
TiersMet tiers_met(const Entry& entry, const Job& job) {
  const auto* event = std::get_if<Event>(&entry.body);
  if (event == nullptr || !std::holds_alternative<Progressed>(*event)) return {};
  const auto& report = std::get<Progressed>(*event).report;
  const auto& target = job.spec->target;
  const auto metric = target ? report.metrics.find(target->metric) : report.metrics.end();
  if (metric == report.metrics.end()) return {};
  return {job.target.delivered_at == entry.at && meets(*target, target->deliver, metric->second),
          job.target.reached_at == entry.at && meets(*target, target->final, metric->second)};
}

std::optional<JobId> private_to(const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  if (event == nullptr) return {};
  if (const auto* submitted = std::get_if<JobSubmitted>(event)) return submitted->job;
  if (const auto* ended = std::get_if<WorkerEnded>(event)) return ended->worker.job;
  if (const auto* report = std::get_if<Progressed>(event)) return report->job;
  if (const auto* saved = std::get_if<CheckpointAcknowledged>(event)) return saved->job;
  if (const auto* kept = std::get_if<CheckpointKept>(event)) return kept->job;
  if (const auto* published = std::get_if<ModelPublished>(event)) return published->job;
  if (const auto* warned = std::get_if<JobWarned>(event)) return warned->job;
  return {};
}

bool write_event(JsonWriter& json, const Entry& entry, Viewer viewer, TiersMet met) {
  const auto* event = std::get_if<Event>(&entry.body);
  std::optional<Event> public_part;
  if (event != nullptr && viewer == Viewer::other) {
    public_part = public_part_of(*event);
    if (!public_part) return false;
    event = &*public_part;
  }
  begin_entry(json, entry);
  if (event == nullptr) {
    write_shown(json, std::get<Plan>(entry.body));
  } else if (const auto* loaded = std::get_if<PolicyLoaded>(event)) {
    write_shown(json, *loaded);
  } else {
    write_members(json, *event);
  }
  if (met.deliver) json.field("target_delivered", true);
  if (met.final) json.field("target_reached", true);
  json.end_object();
  return true;
}

}  // namespace paceline
