// A policy written in Lua: its function decide(cluster) is called once a round and says which
// jobs should run, with how many workers. Every round begins with a fresh sandbox, so that a script
// remembers what it journalled (remember) and nothing else: equal snapshots give equal plans.
// For people who write one: docs/policies.md.
#pragma once

#include <memory>
#include <string>

#include "policy/lua/answer.hpp"
#include "policy/lua/sandbox.hpp"
#include "policy/script.hpp"

namespace paceline {

class LuaPolicy : public ScriptPolicy {
 public:
  // Runs the script once, without a cluster. Errors: invalid.
  static Result<std::unique_ptr<LuaPolicy>> make(std::string_view name, std::string_view text,
                                                 const Parameters& parameters,
                                                 const SandboxLimits& limits);

  [[nodiscard]] const ScriptPage& page() const override { return page_; }
  // Leaves the draft alone if the script fails.
  void decide(const Snapshot& snapshot, Draft& draft) const override;
  // Errors: invalid: the script failed, overran or asked for what can't be.
  [[nodiscard]] Result<void> try_decide(const Snapshot& snapshot, Draft& draft) const override;

  // Instructions that a decision takes, for measuring.
  [[nodiscard]] Result<std::int64_t> cost(const Snapshot& snapshot, Draft& draft) const;

 private:
  LuaPolicy() = default;
  Result<std::int64_t> ask(ClusterView& view, std::vector<Choice>& choices) const;

  std::string name_;
  std::string text_;
  Parameters parameters_;
  SandboxLimits limits_;
  ScriptPage page_;
};

class LuaEngine : public ScriptEngine {
 public:
  explicit LuaEngine(const SandboxLimits& limits = {}) : limits_(limits) {}
  [[nodiscard]] Result<std::unique_ptr<ScriptPolicy>> load(
      std::string_view name, std::string_view text, const Parameters& parameters) const override;

 private:
  SandboxLimits limits_;
};

}  // namespace paceline
