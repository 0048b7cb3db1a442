// A plan: the changes of one round, each with a reason. Plans are built through Draft
// (plan/draft.hpp), refused if they violate anything (plan/check.hpp), and journalled before they
// are acted on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "model/event.hpp"
#include "model/gang.hpp"
#include "model/ids.hpp"
#include "model/reason.hpp"

namespace paceline {

enum class ChangeKind {
  start,   // a gang for a job that has none
  resize,  // the next generation with another number of workers
  move,    // the next generation on other seats
  stop,    // preemption: back to PENDING
  pause,   // preemption: frozen, its slots lent
  resume,  // it goes on in the slots that it had lent
};

// Does the job have workers by it that had none?
constexpr bool begins(ChangeKind kind) {
  return kind == ChangeKind::start || kind == ChangeKind::resume;
}
// Does a job that has a gang get another generation by it?
constexpr bool goes_on(ChangeKind kind) {
  return kind == ChangeKind::resize || kind == ChangeKind::move;
}
// Does it take all its slots from the job?
constexpr bool preempts(ChangeKind kind) {
  return kind == ChangeKind::stop || kind == ChangeKind::pause;
}

std::string_view to_string(ChangeKind kind);
std::optional<ChangeKind> parse_change_kind(std::string_view text);

// A process that goes on in the next generation, in the slots that it has.
struct Survivor {
  ProcessKey process;
  std::int32_t rank = 0;  // there
  friend bool operator==(const Survivor&, const Survivor&) = default;
};

struct Change {
  ChangeKind kind = ChangeKind::start;
  JobId job;
  Generation generation;  // the new one; for a stop, a pause and a resume the current one
  Placement placement;    // empty for a stop and a pause
  Reason reason;
  std::uint32_t trade = 0;           // changes of one trade are kept or dropped whole
  std::optional<JobId> beneficiary;  // the job that gets what this change frees
  // Of a resize or move in place; the other ranks' processes are started. None: a restart.
  std::vector<Survivor> survivors = {};
  friend bool operator==(const Change&, const Change&) = default;
};

// A change that the law of plan/protection.hpp would not let pass; recorded when the reason
// changes.
struct Dropped {
  JobId job;
  Reason reason;  // none: nothing is held back any more
  friend bool operator==(const Dropped&, const Dropped&) = default;
};

// A running job that never saved and in whose place another would start is told so; or told that
// none asks any more.
struct Asking {
  JobId job;
  std::optional<JobId> by = {};  // the job that would start in its place; none: it is asked no more
  std::optional<Time> until = {};  // from then on it may be stopped, as the rules are now
  friend bool operator==(const Asking&, const Asking&) = default;
};

struct Plan {
  std::uint64_t round = 0;
  std::string policy;
  std::string build;  // version of the program that decided
  std::vector<Change> changes;
  std::map<std::string, std::string>
      memo;  // what the policy remembers anew; an empty value forgets
  std::vector<Dropped> dropped;
  std::vector<JobId> counted_anew;  // waiting jobs whose service counts from here on (las)
  std::vector<Asking> asked = {};   // where it changes
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The rules by which entries become a state (plan/apply.hpp), numbered: a program that folds any
// entry otherwise than the one before takes the next number. Servers of before told none.
//   2: whatever takes several workers of a gang is one failure; refused starts back off longer
//   3: a pause doesn't count for newcomers; a job that waits for a checkpoint of a node that retires
//      starts without it, those of before where the first server of these rules begins
//   4: those that are left of a gang, fewer than its minimum, wait for others in place of the dead;
//      newcomers leave where the others had ended well before they met
//   5: a job that runs loses one checkpoint with a node that retires, not also the copy before it
//   6: how far a job is counts as of when it told it; lengths of a name are learned at the submitted size;
//      who would wait for a copy that never comes waits in the queue; what lay on a machine is lost where another
//      one takes its name; a gang whose newcomers fail is judged by the range that its owner gave meanwhile;
//      seats that wait for a machine are given back once it isn't heard
inline constexpr std::uint32_t kFirstFoldRules = 1;
inline constexpr std::uint32_t kFoldRules = 6;

// What a server decides by, besides what the journal tells: noted where it began.
struct Began {
  std::string build;                      // version of the program
  std::string policy;                     // that takes the place of one that can't be had
  std::string placement;                  // of workers
  Duration coalesce{};                    // of bursts into one round
  bool protects = true;                   // running jobs, by the law of plan/protection.hpp
  std::string patience = "off";           // of policies that are given none
  Duration hear_out{};                    // after the start, before time limits were held
  std::uint32_t rules = kFirstFoldRules;  // of the fold, by which its entries were written
  std::uint64_t recovered = 0;  // entries from here on that it wrote before its first step
  friend bool operator==(const Began&, const Began&) = default;
};

// One entry of the journal.
struct Entry {
  std::uint64_t seq = 0;
  Time at;
  std::variant<Event, Plan> body;
  // What happened after the entry before and left no entry of its own: the server began anew; the
  // newest round without news, which changed nothing. A fold uses only Began::rules; a replay needs
  // the rest.
  std::optional<Began> began = {};
  std::optional<Time> quiet_round = {};
  friend bool operator==(const Entry&, const Entry&) = default;
};

// nullptr: it tells of no job that is forgotten.
const JobsForgotten* forgotten_by(const Entry& entry);

}  // namespace paceline
