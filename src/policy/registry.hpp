// Every policy there is, by name. Adding one is a pair of files and one line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/policy.hpp"

namespace paceline {

class PolicyRegistry {
 public:
  // The built-in policies.
  PolicyRegistry();

  [[nodiscard]] std::span<const PolicyInfo> all() const { return policies_; }
  // Errors: not_found, naming the nearest known policy.
  [[nodiscard]] Result<const PolicyInfo*> find(std::string_view name) const;
  // Errors: not_found; invalid (unknown parameter or value out of range).
  [[nodiscard]] Result<std::unique_ptr<Policy>> make(std::string_view name,
                                                     const Parameters& parameters) const;

 private:
  std::vector<PolicyInfo> policies_;
};

}  // namespace paceline
