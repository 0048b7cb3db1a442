#include "policy/lua/lua_policy.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/utf8.hpp"
#include "policy/lua/realise.hpp"

namespace paceline {
namespace {

constexpr std::size_t kParametersMax = 32;
constexpr std::size_t kParameterNameMax = 64;

// parameter(name, default): what the owner gave with `policy set`, else the default, as a value of
// the default's type.
class ParameterList {
 public:
  explicit ParameterList(const Parameters& given) : given_(given) {}

  void open(lua_State* lua) {
    lua_pushlightuserdata(lua, this);
    lua_pushcclosure(lua, parameter, 1);
    lua_setglobal(lua, "parameter");
  }

  [[nodiscard]] const Parameters& defaults() const { return defaults_; }

  // Errors: invalid: one was given that the script has not.
  [[nodiscard]] Result<void> check_given(std::string_view policy) const {
    for (const auto& [name, value] : given_) {
      if (!defaults_.contains(name))
        return fail(ErrorCode::invalid,
                    fmt::format("The policy {} has no parameter '{}'.", policy, name),
                    fmt::format("'paceline policy show {}' names its parameters.", policy));
    }
    return {};
  }

 private:
  static int parameter(lua_State* lua) {
    auto& list = *static_cast<ParameterList*>(lua_touserdata(lua, lua_upvalueindex(1)));
    const std::string name = luaL_checkstring(lua, 1);
    luaL_argcheck(lua, !name.empty() && name.size() <= kParameterNameMax, 1,
                  "a name has 1 to 64 letters");
    list.keep_default(lua, name);
    const auto given = list.given_.find(name);
    if (given == list.given_.end()) return 1;
    push_as(lua, lua_type(lua, 2), name, given->second);
    return 1;
  }

  void keep_default(lua_State* lua, const std::string& name) {
    lua_settop(lua, 2);
    const int type = lua_type(lua, 2);
    luaL_argcheck(lua, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN, 2,
                  "the default is a number, a text, true or false");
    defaults_[name] = luaL_tolstring(lua, 2, nullptr);
    lua_pop(lua, 1);
    if (defaults_.size() > kParametersMax)
      luaL_error(lua, "a policy has at most %d parameters", static_cast<int>(kParametersMax));
  }

  static void push_as(lua_State* lua, int type, const std::string& name, const std::string& text) {
    if (type == LUA_TSTRING) {
      lua_pushlstring(lua, text.data(), text.size());
    } else if (type == LUA_TNUMBER) {
      if (lua_stringtonumber(lua, text.c_str()) != text.size() + 1)
        luaL_error(lua, "the parameter %s is a number, not '%s'", name.c_str(), text.c_str());
    } else {
      if (text != "true" && text != "false")
        luaL_error(lua, "the parameter %s is true or false, not '%s'", name.c_str(), text.c_str());
      lua_pushboolean(lua, text == "true" ? 1 : 0);
    }
  }

  const Parameters& given_;
  Parameters defaults_;
};

// The comment that a script begins with, without its dashes.
std::string head_comment(std::string_view text) {
  std::string page;
  while (text.starts_with("--")) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(2, end - 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    page += std::string(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return page;
}

void want_decide(lua_State* lua) {
  if (lua_getglobal(lua, "decide") != LUA_TFUNCTION)
    luaL_error(lua, "it has no function decide(cluster)");
}

Error not_text(std::string_view name) {
  return {ErrorCode::invalid, fmt::format("The policy {} is not a text in UTF-8.", name),
          "Load the script itself, not compiled Lua.", Retry::useless};
}

Result<void> furnish(Sandbox& sandbox, ParameterList& parameters, std::string_view text) {
  auto ok = sandbox.protect([&](lua_State* lua) {
    ClusterView::open_functions(lua);
    parameters.open(lua);
  });
  if (ok) ok = sandbox.run(text);
  return ok;
}

}  // namespace

// ---- loading ----

Result<std::unique_ptr<LuaPolicy>> LuaPolicy::make(std::string_view name, std::string_view text,
                                                   const Parameters& parameters,
                                                   const SandboxLimits& limits) {
  if (!is_utf8(text)) return fail(not_text(name));
  std::unique_ptr<LuaPolicy> policy(new LuaPolicy);
  policy->name_ = name;
  policy->text_ = text;
  policy->parameters_ = parameters;
  policy->limits_ = limits;
  Sandbox sandbox(policy->name_, limits);
  ParameterList list(policy->parameters_);
  auto ok = furnish(sandbox, list, text);
  if (ok) ok = list.check_given(name);
  if (ok) ok = sandbox.protect(want_decide);
  if (!ok) return fail(ok.error());
  policy->page_.text = head_comment(text);
  policy->page_.summary = policy->page_.text.substr(0, policy->page_.text.find('\n'));
  policy->page_.defaults = list.defaults();
  return policy;
}

Result<std::unique_ptr<ScriptPolicy>> LuaEngine::load(std::string_view name, std::string_view text,
                                                      const Parameters& parameters) const {
  auto made = LuaPolicy::make(name, text, parameters, limits_);
  if (!made) return fail(made.error());
  return std::unique_ptr<ScriptPolicy>(std::move(*made));
}

// ---- deciding ----

Result<std::int64_t> LuaPolicy::ask(ClusterView& view, std::vector<Choice>& choices) const {
  Sandbox sandbox(name_, limits_, view.snapshot().state.seq());
  ParameterList list(parameters_);
  auto ok = furnish(sandbox, list, text_);
  if (ok) {
    ok = sandbox.protect([&](lua_State* lua) {
      want_decide(lua);
      view.push(lua);
      lua_call(lua, 1, 1);
      choices = read_answer(lua, view);
    });
  }
  if (!ok) return fail(ok.error());
  return sandbox.used();
}

void LuaPolicy::decide(const Snapshot& snapshot, Draft& draft) const {
  (void)try_decide(snapshot, draft);
}

Result<std::int64_t> LuaPolicy::cost(const Snapshot& snapshot, Draft& draft) const {
  ClusterView view(snapshot, draft, name_ + ".");
  std::vector<Choice> choices;
  return ask(view, choices);
}

Result<void> LuaPolicy::try_decide(const Snapshot& snapshot, Draft& draft) const {
  ClusterView view(snapshot, draft, name_ + ".");
  std::vector<Choice> choices;
  if (auto used = ask(view, choices); !used) return fail(used.error());
  for (const auto& [key, value] : view.remembered()) draft.remember(key, value);
  if (view.revisit_at()) draft.revisit(*view.revisit_at());
  realise(choices, snapshot, draft);
  return {};
}

}  // namespace paceline
