#include "policy/lua/cluster_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.hpp"
#include "estimate/remaining.hpp"
#include "estimate/scaling.hpp"
#include "policy/harm.hpp"
#include "policy/lua/job_fields.hpp"
#include "policy/lua/library.hpp"
#include "policy/lua/sandbox.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

// Where the state keeps what is no script's business.
constexpr char kView = 0;     // the view itself
constexpr char kJobs = 0;     // id → table of the job
constexpr char kJobMeta = 0;  // the metatable of these tables

constexpr double kRevisitMin = 0.1;  // seconds

void push_kept(lua_State* lua, const char& key) { lua_rawgetp(lua, LUA_REGISTRYINDEX, &key); }

std::string text_argument(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

std::int32_t workers_argument(lua_State* lua) {
  const lua_Integer workers = luaL_checkinteger(lua, 2);
  luaL_argcheck(lua, workers >= 0 && workers <= kWorkersMax, 2, "a number of workers is wanted");
  return static_cast<std::int32_t>(workers);
}

// A table that shows what `field` finds and keeps its metatable.
void push_meta(lua_State* lua, lua_CFunction field, lua_CFunction pairs) {
  lua_newtable(lua);
  lua_pushcfunction(lua, field);
  lua_setfield(lua, -2, "__index");
  if (pairs != nullptr) {
    lua_pushcfunction(lua, pairs);
    lua_setfield(lua, -2, "__pairs");
  }
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
}

// What a sorted view orders by: numbers, then texts, then what is unknown.
struct SortKey {
  int kind = 2;
  double number = 0;
  std::string_view text;
  lua_Integer place = 0;

  [[nodiscard]] int compare(const SortKey& b) const {
    if (number != b.number) return number < b.number ? -1 : 1;
    return text.compare(b.text);
  }
};

SortKey sort_key(lua_State* lua, lua_Integer place) {
  SortKey key{2, 0, {}, place};
  if (lua_isboolean(lua, -1)) {
    key = {0, lua_toboolean(lua, -1) != 0 ? 1.0 : 0.0, {}, place};
  } else if (lua_type(lua, -1) == LUA_TNUMBER) {
    key = {0, lua_tonumber(lua, -1), {}, place};
    if (std::isnan(key.number)) key = {2, 0, {}, place};
  } else if (lua_type(lua, -1) == LUA_TSTRING) {
    std::size_t size = 0;
    const char* text = lua_tolstring(lua, -1, &size);
    key = {1, 0, {text, size}, place};
  }
  return key;
}

}  // namespace

ClusterView::ClusterView(const Snapshot& snapshot, Draft& draft, std::string prefix)
    : snapshot_(snapshot), draft_(draft), prefix_(std::move(prefix)) {
  gather();
}

void ClusterView::gather() {
  const State& state = snapshot_.state;
  shown_.resize(state.jobs().given());
  std::vector<QueueKey> keys;
  for (const auto& key : state.active()) {
    running_.push_back(&state.job(key.job));
    held_ += running_.back()->slots(draft_.workers(key.job));
  }
  for (const auto& key : state.waiting()) {
    const Job& job = state.job(key.job);
    if (startable(job, snapshot_, draft_)) waiting_.push_back(&job);
  }
  jobs_.resize(running_.size() + waiting_.size());
  std::merge(running_.begin(), running_.end(), waiting_.begin(), waiting_.end(), jobs_.begin(),
             [](const Job* a, const Job* b) { return queue_key(*a) < queue_key(*b); });
  for (const Job* job : jobs_) shown_[job->id.value - 1] = true;
}

const Job* ClusterView::find(std::int64_t id) const {
  if (id < 1 || static_cast<std::size_t>(id) > shown_.size()) return nullptr;
  if (!shown_[static_cast<std::size_t>(id) - 1]) return nullptr;
  return &snapshot_.state.job(JobId{static_cast<std::uint32_t>(id)});
}

std::int64_t ClusterView::slots() const {
  const auto given = static_cast<std::int64_t>(draft_.free().total()) + held_;
  return std::max(snapshot_.state.slots_available(), given);  // some are being emptied
}

ClusterView& ClusterView::of(lua_State* lua) {
  push_kept(lua, kView);
  auto* view = static_cast<ClusterView*>(lua_touserdata(lua, -1));
  if (view == nullptr) raise_error(lua, "this is known inside decide(cluster) alone");
  lua_pop(lua, 1);
  return *view;
}

// ---- jobs ----

void ClusterView::push_job(lua_State* lua, const Job& job) {
  push_kept(lua, kJobs);
  if (lua_rawgeti(lua, -1, job.id.value) == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_createtable(lua, 0, 8);
    lua_pushinteger(lua, job.id.value);
    lua_setfield(lua, -2, "id");
    push_kept(lua, kJobMeta);
    lua_setmetatable(lua, -2);
    lua_pushvalue(lua, -1);
    lua_rawseti(lua, -3, job.id.value);
  }
  lua_remove(lua, -2);
}

// The job whose table, or number, is the argument. Raises if it was not shown.
const Job& ClusterView::job_argument(lua_State* lua, int index) {
  const int top = lua_gettop(lua);
  lua_pushvalue(lua, index);
  if (lua_istable(lua, -1)) {
    lua_pushstring(lua, "id");
    lua_rawget(lua, -2);
  }
  int whole = 0;
  const auto id = lua_tointegerx(lua, -1, &whole);
  const Job* job = whole != 0 ? find(id) : nullptr;
  if (job == nullptr) raise_error(lua, "a job of cluster.jobs is wanted here");
  lua_settop(lua, top);
  return *job;
}

// Looks a field up and keeps it in the job's table.
int ClusterView::job_field(lua_State* lua) {
  ClusterView& view = of(lua);
  const auto name = text_argument(lua, 2);
  const JobField* field = find_job_field(name);
  if (field == nullptr)
    raise_error(lua, "a job has no field '%s'; %s", name.c_str(), job_field_hint(name).c_str());
  field->push(lua, view.snapshot_, view.job_argument(lua, 1));
  if (lua_isnil(lua, -1)) return 1;
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, 1);
  return 1;
}

int ClusterView::job_pairs(lua_State* lua) {
  ClusterView& view = of(lua);
  const Job& job = view.job_argument(lua, 1);
  lua_settop(lua, 1);
  Sandbox::charge(lua, 100);
  set_job_fields(lua, view.snapshot_, job);
  return push_pairs(lua, 1);
}

// ---- the cluster ----

void ClusterView::push_list(lua_State* lua, List list) {
  const auto& jobs = list == List::jobs ? jobs_ : list == List::waiting ? waiting_ : running_;
  lua_createtable(lua, static_cast<int>(jobs.size()), 0);
  lua_Integer place = 0;
  for (const Job* job : jobs) {
    push_job(lua, *job);
    lua_rawseti(lua, -2, ++place);
  }
}

void ClusterView::push_nodes(lua_State* lua) {
  lua_newtable(lua);
  lua_Integer place = 0;
  for (const Node& node : snapshot_.state.nodes()) {
    if (node.retired) continue;
    lua_createtable(lua, 0, 8);
    const auto set_text = [&](const char* name, std::string_view text) {
      push_text(lua, text);
      lua_setfield(lua, -2, name);
    };
    const auto set_count = [&](const char* name, std::size_t count) {
      lua_pushinteger(lua, static_cast<lua_Integer>(count));
      lua_setfield(lua, -2, name);
    };
    set_text("name", node.spec.name);
    set_text("rack", node.spec.rack);
    set_text("model", node.spec.slots.empty() ? "" : node.spec.slots.front().model);
    set_count("slots", node.up ? node.spec.slots.size() : 0);
    set_count("free", draft_.free().free_on(node.id));
    lua_pushboolean(lua, node.up ? 1 : 0);
    lua_setfield(lua, -2, "up");
    lua_newtable(lua);
    for (const auto& [label, value] : node.spec.labels) {
      push_text(lua, label);
      push_text(lua, value);
      lua_rawset(lua, -3);
    }
    lua_setfield(lua, -2, "labels");
    lua_rawseti(lua, -2, ++place);
  }
}

// Pushes the part of that name, if there is one.
bool ClusterView::push_part(lua_State* lua, std::string_view name) {
  if (name == "jobs") return push_list(lua, List::jobs), true;
  if (name == "waiting") return push_list(lua, List::waiting), true;
  if (name == "running") return push_list(lua, List::running), true;
  if (name == "nodes") return push_nodes(lua), true;
  return false;
}

int ClusterView::cluster_field(lua_State* lua) {
  const auto name = text_argument(lua, 2);
  if (!of(lua).push_part(lua, name))
    raise_error(lua,
                "the cluster has no field '%s'; it has now, slots, free, nodes, jobs, waiting and "
                "running",
                name.c_str());
  lua_pushvalue(lua, 2);
  lua_pushvalue(lua, -2);
  lua_rawset(lua, 1);
  return 1;
}

void ClusterView::push(lua_State* lua) {
  lua_pushlightuserdata(lua, this);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kView);
  lua_createtable(lua, static_cast<int>(shown_.size()), 0);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kJobs);
  lua_newtable(lua);
  lua_pushnumber(lua, to_seconds(snapshot_.now + snapshot_.state.ahead()));
  lua_setfield(lua, -2, "now");
  lua_pushinteger(lua, snapshot_.state.slots_available());
  lua_setfield(lua, -2, "slots");
  lua_pushinteger(lua, static_cast<lua_Integer>(draft_.free().total()));
  lua_setfield(lua, -2, "free");
  push_meta(lua, cluster_field, nullptr);
  lua_setmetatable(lua, -2);
}

// ---- functions ----

void ClusterView::open_functions(lua_State* lua) {
  push_meta(lua, job_field, job_pairs);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, &kJobMeta);
  lua_register(lua, "fit", fit);
  lua_register(lua, "by", by);
  lua_register(lua, "by_harm", by_harm);
  lua_register(lua, "speed", speed);
  lua_register(lua, "remaining", remaining_with);
  lua_register(lua, "recall", recall);
  lua_register(lua, "remember", remember);
  lua_register(lua, "revisit", revisit);
}

// fit(job, workers): would so many workers of the job fit now, with the slots that are free and
// those it holds?
int ClusterView::fit(lua_State* lua) {
  ClusterView& view = of(lua);
  const Job& job = view.job_argument(lua, 1);
  const auto n = workers_argument(lua);
  Sandbox::charge(lua, 200 + 10 * std::int64_t{n});
  bool fits = n == view.draft_.workers(job.id) || n == 0;
  if (!fits && !view.draft_.changed(job.id)) {
    fits = job.current && !job.lends() ? view.draft_.refit(job.id, n).has_value()
                                       : !job.forming && view.draft_.fit(job.id, n).has_value();
  }
  lua_pushboolean(lua, fits ? 1 : 0);
  return 1;
}

// speed(job, workers): how fast it trains with so many, where 1 is its wanted size.
int ClusterView::speed(lua_State* lua) {
  const Job& job = of(lua).job_argument(lua, 1);
  const auto workers = workers_argument(lua);
  Sandbox::charge(lua, 200);
  lua_pushnumber(lua, Scaling(job).speed(workers));
  return 1;
}

// remaining(job, workers): seconds left with so many from now on, and the bounds between which it
// lies nine times in ten; nil if the length is unknown.
int ClusterView::remaining_with(lua_State* lua) {
  ClusterView& view = of(lua);
  const Job& job = view.job_argument(lua, 1);
  const auto workers = workers_argument(lua);
  Sandbox::charge(lua, 300);
  const auto left = workers > 0
                        ? remaining(view.snapshot_.state.nodes(), job, view.snapshot_.now, workers)
                        : std::nullopt;
  if (!left) return lua_pushnil(lua), 1;
  for (const Duration span : {left->likely, left->low, left->high})
    lua_pushnumber(lua, to_seconds(span));
  return 3;
}

// by(field [, list]): the jobs of the list, or all, from the smallest value of the field to the
// largest; by("-field") from the largest. Equals stay in their order, what is unknown comes last.
int ClusterView::by(lua_State* lua) {
  ClusterView& view = of(lua);
  auto name = text_argument(lua, 1);
  const bool falling = name.starts_with('-');
  if (falling) name.erase(0, 1);
  const JobField* field = find_job_field(name);
  if (field == nullptr)
    raise_error(lua, "a job has no field '%s'; %s", name.c_str(), job_field_hint(name).c_str());
  if (lua_isnoneornil(lua, 2)) {
    lua_settop(lua, 1);
    view.push_list(lua, List::jobs);
  }
  luaL_checktype(lua, 2, LUA_TTABLE);
  Sandbox::charge_each(lua, lua_rawlen(lua, 2), 160);
  const auto size = static_cast<lua_Integer>(lua_rawlen(lua, 2));
  std::vector<SortKey> keys;
  keys.reserve(static_cast<std::size_t>(size));
  lua_createtable(lua, static_cast<int>(size), 0);  // keeps texts alive while they are compared
  const int values = lua_gettop(lua);
  for (lua_Integer i = 1; i <= size; ++i) {
    lua_rawgeti(lua, 2, i);
    field->push(lua, view.snapshot_, view.job_argument(lua, -1));
    keys.push_back(sort_key(lua, i));
    lua_rawseti(lua, values, i);
    lua_settop(lua, values);
  }
  std::stable_sort(keys.begin(), keys.end(), [&](const SortKey& a, const SortKey& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return falling ? a.compare(b) > 0 : a.compare(b) < 0;
  });
  lua_createtable(lua, static_cast<int>(size), 0);
  lua_Integer place = 0;
  for (const auto& key : keys) {
    lua_rawgeti(lua, 2, key.place);
    lua_rawseti(lua, -2, ++place);
  }
  return 1;
}

// by_harm([list]): the jobs of the list that have workers, or all those, in the order in which they
// give their slots for others: the one that is hurt least first.
int ClusterView::by_harm(lua_State* lua) {
  struct Place {
    Harm harm;
    lua_Integer index;
  };
  ClusterView& view = of(lua);
  if (lua_isnoneornil(lua, 1)) {
    lua_settop(lua, 0);
    view.push_list(lua, List::running);
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  Sandbox::charge_each(lua, lua_rawlen(lua, 1), 160);
  const auto size = static_cast<lua_Integer>(lua_rawlen(lua, 1));
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(size));
  for (lua_Integer i = 1; i <= size; ++i) {
    lua_rawgeti(lua, 1, i);
    const Job& job = view.job_argument(lua, -1);
    if (job.current) places.push_back({harm_of_giving_all(view.snapshot_, job), i});
    lua_settop(lua, 1);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.harm < b.harm; });
  lua_createtable(lua, static_cast<int>(places.size()), 0);
  lua_Integer place = 0;
  for (const Place& each : places) {
    lua_rawgeti(lua, 1, each.index);
    lua_rawseti(lua, -2, ++place);
  }
  return 1;
}

// recall(key): the text remembered in an earlier round, or nil.
int ClusterView::recall(lua_State* lua) {
  ClusterView& view = of(lua);
  const auto key = view.prefix_ + text_argument(lua, 1);
  const auto known = view.remembered_.find(key);
  const auto value = known != view.remembered_.end() ? known->second : view.draft_.memo(key);
  if (value.empty())
    lua_pushnil(lua);
  else
    push_text(lua, value);
  return 1;
}

// Keys in the memo once what the script remembered is in it.
std::size_t ClusterView::keys() const {
  const auto& memo = snapshot_.state.memo();
  std::size_t count = memo.size();
  for (const auto& [key, value] : remembered_) {
    if (memo.contains(key) && value.empty()) --count;
    if (!memo.contains(key) && !value.empty()) ++count;
  }
  return count;
}

// remember(key, value): for recall() in later rounds; nil forgets.
int ClusterView::remember(lua_State* lua) {
  ClusterView& view = of(lua);
  const auto key = text_argument(lua, 1);
  luaL_argcheck(lua, !key.empty() && key.size() <= kMemoKeyMax, 1, "a key has 1 to 64 letters");
  const auto value = lua_isnoneornil(lua, 2) ? std::string() : text_argument(lua, 2);
  luaL_argcheck(lua, is_utf8(key), 1, "a key is UTF-8");
  luaL_argcheck(lua, is_utf8(value), 2, "a value is UTF-8");
  luaL_argcheck(lua, value.size() <= kMemoValueMax, 2, "a value has at most 1024 letters");
  Sandbox::charge(lua, 100);
  view.remembered_.insert_or_assign(view.prefix_ + key, value);
  if (view.keys() > kMemoKeysMax)
    raise_error(lua, "a policy remembers at most %d keys", static_cast<int>(kMemoKeysMax));
  return 0;
}

// revisit(seconds): asks for a round then, also if nothing happens until then.
int ClusterView::revisit(lua_State* lua) {
  ClusterView& view = of(lua);
  const double seconds = luaL_checknumber(lua, 1);
  luaL_argcheck(lua, seconds >= kRevisitMin && seconds <= 1e9, 1,
                "at least 0.1 and at most 1e9 seconds");
  const Time at = view.snapshot_.now + from_seconds(seconds);
  if (!view.revisit_at_ || at < *view.revisit_at_) view.revisit_at_ = at;
  return 0;
}

}  // namespace paceline
