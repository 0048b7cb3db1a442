#include "policy/lua/job_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"
#include "model/accrual.hpp"

namespace paceline {
namespace {

using Lua = lua_State*;

void push(Lua lua, bool value) { lua_pushboolean(lua, value ? 1 : 0); }
void push(Lua lua, double value) { lua_pushnumber(lua, value); }
void push(Lua lua, std::int32_t value) { lua_pushinteger(lua, value); }
void push(Lua lua, std::uint32_t value) { lua_pushinteger(lua, value); }
void push(Lua lua, std::string_view text) { push_text(lua, text); }
void push(Lua lua, Duration value) { lua_pushnumber(lua, to_seconds(value)); }
void push(Lua lua, Time value) { lua_pushnumber(lua, to_seconds(value)); }
void push(Lua lua, WallTime value) { lua_pushnumber(lua, to_seconds(value)); }

template <class T>
void push(Lua lua, const std::optional<T>& value) {
  if (value)
    push(lua, *value);
  else
    lua_pushnil(lua);
}

Duration spent(const Snapshot& s, const Job& job, Duration Job::*how) {
  const Accrual meanwhile = accrued(job, s.now);
  return job.*how + (meanwhile.spent == how ? meanwhile.passed : Duration::zero());
}

double attained(const Snapshot& s, const Job& job) {
  return job.slot_seconds + accrued(job, s.now).slot_seconds;
}

std::optional<double> progress(const Job& job) {
  if (!job.progress) return std::nullopt;
  return job.progress->ratio(job.spec->expected_samples);
}

void push_metrics(Lua lua, const Job& job) {
  lua_newtable(lua);
  if (!job.progress) return;
  for (const auto& [name, value] : job.progress->metrics) {
    push(lua, std::string_view(name));
    push(lua, value);
    lua_rawset(lua, -3);
  }
}

void set(Lua lua, const char* name, const auto& value) {
  push(lua, value);
  lua_setfield(lua, -2, name);
}

void push_target(Lua lua, const Job& job) {
  if (!job.spec->target) return lua_pushnil(lua);
  const Target& target = *job.spec->target;
  lua_newtable(lua);
  set(lua, "metric", std::string_view(target.metric));
  set(lua, "direction", to_string(target.direction));
  set(lua, "deliver", target.deliver);
  set(lua, "final", target.final);
  set(lua, "delivered", job.target.delivered_at.has_value());
  set(lua, "reached", job.target.reached_at.has_value());
}

bool may_resize(const Job& job) { return job.state == JobState::running && job.resizable(); }

bool runs(const Job& job) { return job.current && !job.lends(); }

#define FIELD(name, value)                                 \
  JobField {                                               \
    name, [](Lua lua, const Snapshot& s, const Job& job) { \
      (void)s;                                             \
      push(lua, value);                                    \
    }                                                      \
  }

// By name.
constexpr std::array kFields = {
    FIELD("attained", attained(s, job)),
    FIELD("checkpointed", job.checkpoint.has_value()),
    FIELD("deadline", job.spec->deadline),
    FIELD("id", job.id.value),
    FIELD("max", job.range.max),
    JobField{"metrics", [](Lua lua, const Snapshot&, const Job& job) { push_metrics(lua, job); }},
    FIELD("min", job.range.min),
    FIELD("name", std::string_view(job.spec->name)),
    FIELD("preemptible", job.spec->preemptible),
    FIELD("preemptions", job.preemptions),
    FIELD("priority", job.spec->priority),
    FIELD("progress", progress(job)),
    FIELD("ran", spent(s, job, &Job::ran)),
    FIELD("remaining", remaining(s.state.nodes(), job, s.now)),
    FIELD("resizable", may_resize(job)),
    FIELD("resize_cost", runs(job) ? std::optional(resize_cost(job, s.now)) : std::nullopt),
    FIELD("resizes", job.resizes),
    FIELD("slots_per_worker", job.spec->slots_per_worker),
    FIELD("state", to_string(job.state)),
    FIELD("step", job.spec->mesh.step()),
    FIELD("submitted", job.submitted_at + s.state.ahead()),
    JobField{"target", [](Lua lua, const Snapshot&, const Job& job) { push_target(lua, job); }},
    FIELD("user", std::string_view(job.spec->user)),
    FIELD("waited", spent(s, job, &Job::waited)),
    FIELD("want", job.range.want),
    FIELD("work_at_risk", runs(job) ? std::optional(work_at_risk(job, s.now)) : std::nullopt),
    FIELD("workers", job.planned_workers()),
};
#undef FIELD

}  // namespace

void push_text(lua_State* lua, std::string_view text) {
  constexpr std::size_t kShownMax = 1024;
  lua_pushlstring(lua, text.data(), std::min(text.size(), kShownMax));
}

const JobField* find_job_field(std::string_view name) {
  const auto* found = std::lower_bound(
      kFields.begin(), kFields.end(), name,
      [](const JobField& field, std::string_view wanted) { return field.name < wanted; });
  return found != kFields.end() && found->name == name ? found : nullptr;
}

std::string job_field_hint(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(kFields.size());
  for (const auto& field : kFields) names.push_back(field.name);
  if (const auto near = nearest(name, names)) return fmt::format("did you mean '{}'?", *near);
  return fmt::format("it has {}", fmt::join(names, ", "));
}

void set_job_fields(lua_State* lua, const Snapshot& snapshot, const Job& job) {
  for (const auto& field : kFields) {
    push_text(lua, field.name);
    field.push(lua, snapshot, job);
    lua_rawset(lua, -3);
  }
}

}  // namespace paceline
