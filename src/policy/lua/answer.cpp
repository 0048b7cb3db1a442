#include "policy/lua/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.hpp"
#include "policy/lua/sandbox.hpp"

namespace paceline {
namespace {

constexpr const char* kForm =
    "decide returns a list of {job = …, workers = …, reason = \"…\", owed = true or false}";

// What a script gave where something else belongs: "a text", "2.5".
std::string shown(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      return lua_isinteger(lua, index) != 0 ? fmt::format("{}", lua_tointeger(lua, index))
                                            : fmt::format("{:g}", lua_tonumber(lua, index));
    case LUA_TNIL:
      return "nothing";
    case LUA_TSTRING:
      return "a text";
    default:
      return fmt::format("a {}", luaL_typename(lua, index));
  }
}

[[noreturn]] void refuse(lua_State* lua, const std::string& sentence) {
  lua_pushlstring(lua, sentence.data(), sentence.size());
  lua_error(lua);
  std::abort();
}

class AnswerReader {
 public:
  AnswerReader(lua_State* lua, const ClusterView& view) : lua_(lua), view_(view) {}

  std::vector<Choice> read() {
    if (!lua_istable(lua_, -1))
      refuse(lua_, fmt::format("{}; it returned {}", kForm, shown(lua_, -1)));
    const auto size = static_cast<lua_Integer>(lua_rawlen(lua_, -1));
    refuse_what_is_no_list();
    for (entry_ = 1; entry_ <= size; ++entry_) {
      Sandbox::charge(lua_, 10);
      lua_rawgeti(lua_, -1, entry_);
      if (!lua_istable(lua_, -1)) refuse_entry(fmt::format("is {}: {}", shown(lua_, -1), kForm));
      read_entry();
      lua_pop(lua_, 1);
    }
    refuse_more_than_exists();
    return std::move(choices_);
  }

 private:
  [[noreturn]] void refuse_entry(const std::string& what) {
    refuse(lua_, fmt::format("entry {} of its answer {}", entry_, what));
  }

  void refuse_what_is_no_list() {
    lua_pushnil(lua_);
    if (lua_next(lua_, -2) == 0) return;
    const bool numbered = lua_isinteger(lua_, -2) != 0;
    lua_pop(lua_, 2);
    if (!numbered) refuse(lua_, fmt::format("{}; its table has other keys", kForm));
  }

  // Pushes a member of the entry on top.
  int push_member(const char* name) {
    lua_pushstring(lua_, name);
    return lua_rawget(lua_, -2);
  }

  void read_entry() {
    Choice choice;
    choice.job = &read_job();
    choice.workers = read_workers(*choice.job);
    choice.reason = read_reason();
    choice.owed = read_owed(choice);
    refuse_unknown_members();
    if (!seen_.insert(choice.job->id).second)
      refuse_entry(fmt::format("names job {} again", choice.job->id.value));
    choices_.push_back(std::move(choice));
  }

  const Job& read_job() {
    push_member("job");
    if (lua_istable(lua_, -1)) {
      lua_pushstring(lua_, "id");
      lua_rawget(lua_, -2);
      lua_remove(lua_, -2);
    }
    int whole = 0;
    const auto id = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tointegerx(lua_, -1, &whole) : 0;
    const Job* job = whole != 0 ? view_.find(id) : nullptr;
    if (job == nullptr)
      refuse_entry(fmt::format("has {} for 'job': a job of cluster.jobs, or its id, belongs there",
                               shown(lua_, -1)));
    lua_pop(lua_, 1);
    return *job;
  }

  std::int32_t read_workers(const Job& job) {
    push_member("workers");
    int whole = 0;
    const auto n = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tointegerx(lua_, -1, &whole) : 0;
    if (whole == 0)
      refuse_entry(fmt::format("has {} for 'workers' of job {}: a whole number belongs there",
                               shown(lua_, -1), job.id.value));
    lua_pop(lua_, 1);
    if (n == 0 || n == view_.draft().workers(job.id)) return static_cast<std::int32_t>(n);
    const std::int32_t step = job.spec->mesh.step();
    if (n < job.range.min || n > job.range.max || n % step != 0)
      refuse_entry(fmt::format("asks for {} workers of job {}: it takes 0 or {} to {}{}", n,
                               job.id.value, job.range.min, job.range.max,
                               step > 1 ? fmt::format(" in steps of {}", step) : ""));
    return static_cast<std::int32_t>(n);
  }

  std::string read_reason() {
    const int type = push_member("reason");
    if (type != LUA_TNIL && type != LUA_TSTRING)
      refuse_entry(fmt::format("has {} for 'reason': a text belongs there", shown(lua_, -1)));
    std::size_t size = 0;
    const char* text = type == LUA_TSTRING ? lua_tolstring(lua_, -1, &size) : "";
    std::string reason(text, std::min(size, kScriptReasonMax));
    std::replace_if(
        reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) < 32; },
        ' ');
    lua_pop(lua_, 1);
    return to_utf8(reason);
  }

  // The owner of the job that gives the slots up reads why.
  Owed read_owed(const Choice& choice) {
    const int type = push_member("owed");
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
      refuse_entry(fmt::format("has {} for 'owed': true or false belongs there", shown(lua_, -1)));
    const Owed owed = lua_toboolean(lua_, -1) != 0 ? Owed::yes : Owed::no;
    lua_pop(lua_, 1);
    if (owed == Owed::yes && choice.reason.empty())
      refuse_entry(fmt::format("owes slots to job {} without a reason: say why in 'reason'",
                               choice.job->id.value));
    return owed;
  }

  void refuse_unknown_members() {
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) {
      const std::string_view name = lua_type(lua_, -2) == LUA_TSTRING ? lua_tostring(lua_, -2) : "";
      if (name != "job" && name != "workers" && name != "reason" && name != "owed")
        refuse_entry(fmt::format("has '{}': {}", name, kForm));
    }
  }

  void refuse_more_than_exists() {
    std::int64_t total = 0;
    for (const Job* job : view_.jobs()) {
      if (!seen_.contains(job->id)) total += job->slots(view_.draft().workers(job->id));
    }
    for (const Choice& choice : choices_)
      total += std::int64_t{choice.workers} * choice.job->spec->slots_per_worker;
    if (total > view_.slots())
      refuse(lua_, fmt::format("its answer needs {} slots, with the jobs that it leaves as they "
                               "are; the cluster has {}",
                               total, view_.slots()));
  }

  lua_State* lua_;
  const ClusterView& view_;
  lua_Integer entry_ = 0;
  std::vector<Choice> choices_;
  std::set<JobId> seen_;
};

}  // namespace

std::vector<Choice> read_answer(lua_State* lua, const ClusterView& view) {
  return AnswerReader(lua, view).read();
}

}  // namespace paceline
