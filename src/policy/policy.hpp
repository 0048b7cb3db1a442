// A policy decides who runs with how many workers: equal snapshots give equal plans. It has no
// clock (`now` is in the snapshot), no chance and no memory but the journalled memo, and builds its
// plan through Draft alone.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/state.hpp"
#include "plan/draft.hpp"

namespace paceline {

class Patience;

using Parameters = std::map<std::string, std::string>;

class Policy {
 public:
  virtual ~Policy() = default;
  virtual void decide(const Snapshot& snapshot, Draft& draft) const = 0;
  // True: where what its last plan asked for has happened and nothing else, it would change nothing,
  // so that no round is needed; nor where a gang came up, unless the draft awaits its start: then
  // there is one once the judge lets that gang be changed.
  [[nodiscard]] virtual bool foresees() const { return false; }
  // True: a job that has just come can't start now, whatever a round decided by this judge, and
  // nobody else changes for it, so that no round is needed.
  [[nodiscard]] virtual bool passes_over(const Snapshot& /*snapshot*/, const Judge& /*judge*/,
                                         const Job& /*newcomer*/) const {
    return false;
  }
  // True: nobody starts who is behind a waiting job in its line, so that nobody is passed over.
  [[nodiscard]] virtual bool keeps_line() const { return false; }
  // Under it waiting jobs have this much patience (policy/patient.hpp); nullptr: nobody has any.
  [[nodiscard]] virtual const Patience* patience() const { return nullptr; }
  // For policies that can fail, as people's own can: decides, or leaves the draft as it was and
  // says why. Whoever can let another policy decide the round calls this.
  [[nodiscard]] virtual Result<void> try_decide(const Snapshot& snapshot, Draft& draft) const {
    decide(snapshot, draft);
    return {};
  }
};

// One line of the registry.
struct PolicyInfo {
  std::string_view name;
  std::string_view summary;  // one sentence
  std::string_view text;     // the head of its header (pages.hpp): what `policy show` prints
  bool elastic = false;      // changes sizes of running jobs by itself
  Parameters defaults;       // every parameter it takes
  Result<std::unique_ptr<Policy>> (*make)(const Parameters& parameters) =
      nullptr;            // all defaults filled in
  bool preempts = false;  // stops running jobs for others
};

}  // namespace paceline
