// Why a job is as it is: a small value, rendered to a sentence only when somebody reads it. The
// sentence lets the owner predict what would change it.
//
//   Reason r{ReasonCode::waits_for_slots, {4, 1}, {}};
//   name(r.code) == "waits_for_slots"
//   sentence(r) == "needs 4 slots, 1 free now"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// After each code: its numbers, then its text.
enum class ReasonCode {
  none,
  // waits
  held,             // by its owner
  waits_for_jobs,   // count, first of them
  backs_off,        // failures, eligible at (us); what refused its start, for its owner
  waits_for_slots,  // needed slots, free slots
  waits_behind,     // head job, needed slots of the head, free slots
  waits_for_giver,  // needed slots, free slots, a job that would give some up but changed a moment
                    // ago
  waits_for_fit,  // needed slots, free slots: enough are free but not where its workers would fit;
                  // text: what it asks of its nodes together
  waits_for_place,       // needed slots, slots free elsewhere; text: what it asks of a place
  waits_for_empty,       // slots promised to it that are still being emptied
  waits_for_checkpoint,  // wanted workers: it can't be changed before it acknowledges one
  waits_for_leavers,     // wanted workers, workers that leave it after a resize in place
  waits_for_node,        // wanted workers; text: a machine of its that isn't heard
  waits_for_window,      // wanted workers, until (us): it is protected (plan/protection.hpp)
  too_costly,            // gain, cost in slot-seconds: only in journals of earlier versions
  waits_for_others,      // needed slots, free slots; text: which jobs go first
  waits_for_turn,        // wanted workers: the active policy gave the slots to others
  waits_for_reclaim,     // needed slots, free slots, a job that never saved and was asked for its
                         // own, seconds until it may be stopped
  waits_for_own,         // a job that has its slots, until (us): frozen there, its work in memory
  waits_for_kept,  // needed slots, of these kept for it and free, the last job to leave (0: none)
  waits_for_patient,  // needed slots, free slots, a job that waited for too long: they are kept for it
  no_node,            // no node is up
  fits_nowhere,       // no nodes that are known could ever hold it; text: why, a sentence
  node_refuses,       // no node that is up starts anything for now; text: one of them, and why
  // acts
  starts,            // workers; text: what is to be said about the place, or nothing
  starts_at_min,     // workers, wanted workers; text: the same
  grows,             // from, to
  shrinks_for,       // from, to, job that starts; text: what puts that one first, or nothing
  shrinks_to_share,  // from, to
  stops_for,         // job that starts; text: what puts it first, or nothing
  pauses_for,        // the same; it lends its slots meanwhile
  goes_on,           // workers, in the slots it had lent
  starts_anew,       // workers: its own slots were not to be had
  moves_for,         // job that starts
  owner_resized,     // from, to
  replaces_dead,     // workers that are left, with others in place of those that died
  leaves_node,       // from, to (0: it is stopped); text: the node that drains, and why
  // runs
  runs,          // workers, max
  leaves_slots,  // workers, max, a waiting job before it that is short of slots
  stays_on_node,  // seconds until it is stopped (negative: never); text: the node that drains, and why
  node_away,  // workers, seconds of the lease that ends them there (0: none); text: a node of its
              // own that does not answer
  target_reached,     // workers: its script is told to stop
  asked,              // slots, job that would start in its place, seconds until it may be stopped,
                      // seconds of work that it would lose now
  starting,           // workers running, of
  resizing,           // from, to
  awaits_checkpoint,  // text: the node that sends it
  awaits_newcomers,   // workers, workers with those that get ready to join them
  awaits_replacements,  // workers, of at least so many: others died
  meets_anew,           // workers: it goes on in place with them
  paused,
  stopping,  // text: cause
  ended,     // text: the ending's sentence
  script,    // text: a user policy's own words
};
inline constexpr ReasonCode kLastReasonCode = ReasonCode::script;

struct Reason {
  ReasonCode code = ReasonCode::none;
  std::vector<std::int64_t> numbers;
  std::string text;

  friend bool operator==(const Reason&, const Reason&) = default;
};

std::string_view name(ReasonCode code);  // "waits_for_slots": its enumerator
// Back from its name, or from how older journals have it: "WaitsForSlots". Nothing: it is neither.
std::optional<ReasonCode> parse_reason_code(std::string_view text);
std::string sentence(const Reason& reason);

}  // namespace paceline
