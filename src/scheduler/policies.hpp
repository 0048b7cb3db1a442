// The desk for policies: which ones are known, which is active, tried, and was active before. What
// people ask for here becomes events of the journal; what the journal says is followed here.
//
//   controller.desk().try_out({"srtf", {}}, by, done);
//   controller.desk().promote(by, done);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/event.hpp"
#include "scheduler/commands.hpp"
#include "scheduler/lineup.hpp"
#include "scheduler/preview.hpp"
#include "scheduler/shadow.hpp"

namespace paceline {

// A policy to switch to.
struct PolicyChoice {
  std::string name;
  Parameters parameters;
  std::map<std::string, std::string> memo = {};  // what it remembers from elsewhere
};

class Policies {
 public:
  struct Parts {
    State& state;  // its memo is another one while a round is played ahead; nothing else changes
    const PolicyRegistry& registry;
    const Placer& placer;
    Protects protects;
    Shadow& shadow;
    std::string last;  // built in: decides where no other can
    std::function<Time()> now;
    // Takes an event for the journal, and a memo that goes with it; `done` is called once it is
    // durable.
    std::function<void(Event, std::map<std::string, std::string> memo, Done<void> done)> order;
  };
  explicit Policies(Parts parts) : parts_(std::move(parts)) {}

  // ---- what people ask for; `done` is called once it is durable, or at once with an error ----
  // Errors: not_found, invalid; what a script says.
  void set(PolicyChoice choice, Principal by, Done<void> done);
  // Makes a policy of a script's text known, or replaces it, also while it is active: the next
  // round is the new text's. It is tried on the present state and on a busy cluster first. Errors:
  // invalid, with the line; conflict, too_large, unavailable.
  void load(std::string name, std::string text, Principal by, Done<void> done);
  // Errors: not_found; conflict: it is active.
  void forget(std::string name, Principal by, Done<void> done);
  // A candidate decides every round from now on without effect, also after a restart; it replaces
  // the one that is tried. Errors: as of set().
  void try_out(PolicyChoice choice, Principal by, Done<void> done);
  // Errors: conflict: none is tried.
  void end_trial(Principal by, Done<void> done);
  // The candidate becomes the active policy and keeps what it remembers; the trial is over. Errors:
  // conflict: none is tried; as of set().
  void promote(const Principal& by, Done<void> done);
  // Back to the policy and parameters that were active before. Errors: conflict: there were none;
  // as of set().
  void roll_back(Principal by, Done<void> done);

  // ---- looking ahead ----
  // What the next round would do if the policy decided it from now on. Nothing changes. Errors: as
  // of set(); what the script says where it fails.
  [[nodiscard]] Result<Preview> preview(const PolicyChoice& choice);
  // The policies that promote() and roll_back() would switch to. Errors: as of theirs.
  [[nodiscard]] Result<PolicyChoice> tried();
  [[nodiscard]] Result<PolicyChoice> before() const;

  // What the scripts in the state say of themselves; one that can't be loaded is missing.
  [[nodiscard]] const std::map<std::string, ScriptPage>& pages() const { return pages_; }

  // ---- following the journal ----
  // The state was loaded. Answers what has to be written where it has no policy that this build
  // knows. Errors: the policy `last` is not built in.
  [[nodiscard]] Result<std::optional<PolicySet>> recover();
  // The event is folded. True: another policy is active now, or the same one anew.
  bool follow(const Event& event);
  // The policies that decide; nullptr: none is active yet.
  [[nodiscard]] const Lineup* lineup() const { return lineup_ ? &*lineup_ : nullptr; }
  // The policy that takes the active one's place, where that failed too often.
  [[nodiscard]] std::optional<PolicySet> successor(const Lineup::Decision& decision) const;
  // The round of this decision is durable. One that changed nothing doesn't speak for its policy: it
  // may be that nothing was to be decided.
  void count(const Lineup::Decision& decision, std::span<const Change> changes);

 private:
  [[nodiscard]] Result<void> check_known(const PolicyChoice& choice) const;
  void line_up();
  void turn_to_page(const std::string& name);
  [[nodiscard]] Result<void> admit_script(const std::string& name, const std::string& text);
  [[nodiscard]] Result<Plan> rehearse(const Policy& policy) const;
  [[nodiscard]] Result<void> rehearse_busy(const Policy& policy) const;

  Parts parts_;
  std::optional<Lineup> lineup_;
  std::map<std::string, ScriptPage> pages_;
  int failures_ = 0;  // of the active policy, since a round of its own changed something
};

}  // namespace paceline
