// Policies that people bring as a text. An engine turns a text into a policy. The registry is given
// its engines when it is built, and knows none of them by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model/script.hpp"
#include "policy/policy.hpp"

namespace paceline {

// What a script says of itself.
struct ScriptPage {
  std::string summary;  // the first line of its head comment
  std::string text;     // the whole head comment
  Parameters defaults;  // every parameter it takes
};

// May fail in any round (Policy::try_decide).
class ScriptPolicy : public Policy {
 public:
  [[nodiscard]] virtual const ScriptPage& page() const = 0;
};

class ScriptEngine {
 public:
  virtual ~ScriptEngine() = default;
  // Errors: invalid, naming the line and what to do: syntax, an unknown parameter, no decide().
  [[nodiscard]] virtual Result<std::unique_ptr<ScriptPolicy>> load(
      std::string_view name, std::string_view text, const Parameters& parameters) const = 0;
};

}  // namespace paceline
