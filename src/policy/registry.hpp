// Every built-in policy, by name, and the way to those that people bring. Adding a policy is a pair
// of files and one line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/policy.hpp"
#include "policy/script.hpp"

namespace paceline {

class PolicyRegistry {
 public:
  // `scripts` makes policies of people's texts and outlives the registry; nullptr: there is no such
  // engine, and load() refuses.
  explicit PolicyRegistry(const ScriptEngine* scripts = nullptr);

  [[nodiscard]] std::span<const PolicyInfo> all() const { return policies_; }
  // Errors: not_found, naming the nearest known policy.
  [[nodiscard]] Result<const PolicyInfo*> find(std::string_view name) const;
  // Errors: not_found; invalid (unknown parameter or value out of range).
  [[nodiscard]] Result<std::unique_ptr<Policy>> make(std::string_view name,
                                                     const Parameters& parameters) const;
  // A policy from a text. Its name is 1 to 64 of a-z, 0-9 and '-', and no built-in one's. Errors:
  // conflict (the name is taken), too_large, invalid; unavailable without an engine.
  [[nodiscard]] Result<std::unique_ptr<ScriptPolicy>> load(std::string_view name,
                                                           std::string_view text,
                                                           const Parameters& parameters) const;

 private:
  const ScriptEngine* scripts_;
  std::vector<PolicyInfo> policies_;
};

}  // namespace paceline
