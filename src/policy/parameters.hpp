// Reads a policy's parameters: one line each, errors name the parameter and what it may be.
//
//   ParameterReader read(parameters);
//   read.whole("queues", queues, 1, 16).real("threshold", threshold, 1, 1e12);
//   if (auto ok = read.finish(); !ok) return fail(ok.error());
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "policy/policy.hpp"

namespace paceline {

class ParameterReader {
 public:
  // REQUIRES: every parameter that is read is there (the registry fills in defaults).
  explicit ParameterReader(const Parameters& parameters) : parameters_(parameters) {}

  ParameterReader& whole(std::string_view name, std::int64_t& into, std::int64_t low,
                         std::int64_t high);
  ParameterReader& real(std::string_view name, double& into, double low, double high);
  // The index of the word among those it may be.
  ParameterReader& word(std::string_view name, std::size_t& into,
                        std::span<const std::string_view> words);
  // "ann:2,bob:0.5": positive numbers by name; empty: none.
  ParameterReader& weights(std::string_view name, std::map<std::string, double>& into);

  // Errors: invalid, the first that was found.
  [[nodiscard]] Result<void> finish() const;

 private:
  [[nodiscard]] const std::string& text(std::string_view name) const;
  void refuse(std::string_view name, std::string_view may_be);

  const Parameters& parameters_;
  Result<void> verdict_;
};

}  // namespace paceline
