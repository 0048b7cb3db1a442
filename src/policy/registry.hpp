// Every built-in policy, by name, and the way to those that people bring. Adding a policy is a pair
// of files and one line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/patience.hpp"
#include "policy/policy.hpp"
#include "policy/script.hpp"

namespace paceline {

// Parameters of every policy: "3%", "10s" (model/loss_limits.hpp).
inline constexpr std::string_view kStopLossWord = "stop_loss", kResizeLossWord = "resize_loss",
                                  kMinRunWord = "min_run";

class PolicyRegistry {
 public:
  // `scripts` makes policies of people's texts and outlives the registry; nullptr: there is no such
  // engine, and load() refuses.
  // `patience` is that of policies which are given none (parameter `patience`, policy/patient.hpp).
  explicit PolicyRegistry(const ScriptEngine* scripts = nullptr, const Patience& patience = {});

  [[nodiscard]] const Patience& patience() const { return patience_; }
  // The same policies with another patience.
  [[nodiscard]] PolicyRegistry with(const Patience& patience) const {
    return PolicyRegistry(scripts_, patience);
  }

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
  // The same, with the patience that the parameters say.
  [[nodiscard]] Result<std::unique_ptr<Policy>> load_patient(std::string_view name,
                                                             std::string_view text,
                                                             const Parameters& parameters) const;

 private:
  [[nodiscard]] Result<Patience> patience_of(const Parameters& parameters) const;
  static Result<LossLimits> limits_of(const Parameters& parameters);

  const ScriptEngine* scripts_;
  Patience patience_;
  std::vector<PolicyInfo> policies_;
};

}  // namespace paceline
