// The words on the wire for what the model has no words for, and reading any enumerator back from
// its word.
//
//   to_string(Request::cancel) == "cancel"
//   parse_word<Cause>("node_lost") == Cause::node_lost
#pragma once

#include <optional>
#include <string_view>

#include "model/event.hpp"
#include "model/gang.hpp"
#include "model/job_spec.hpp"
#include "model/job_state.hpp"
#include "model/node.hpp"
#include "model/reason.hpp"
#include "model/target.hpp"
#include "plan/plan.hpp"

namespace paceline {

std::string_view to_string(Request request);    // "cancel", "pause", "resume"
std::string_view to_string(Role role);          // "viewer", "operator", "node"…
std::string_view to_string(KnownBy known_by);   // "unix_socket", "token", "certificate"
std::string_view to_string(WorkerState state);  // "assigned", "running", "ended"
std::string_view to_string(Warning warning);    // "no_rendezvous", "no_directory"
std::string_view to_string(Keeping keeping);    // "kept", "unkept", "shared", "lost"

// The last enumerator of each: all are numbered from 0 without a gap.
template <class E>
inline constexpr E kLast = E::unknown;
template <>
inline constexpr auto kLast<Request> = Request::resume;
template <>
inline constexpr auto kLast<Role> = Role::node;
template <>
inline constexpr auto kLast<KnownBy> = KnownBy::certificate;
template <>
inline constexpr auto kLast<WorkerState> = WorkerState::ended;
template <>
inline constexpr auto kLast<Warning> = Warning::no_directory;
template <>
inline constexpr auto kLast<Elastic> = Elastic::no;
template <>
inline constexpr auto kLast<OnDisconnect> = OnDisconnect::go_on;
template <>
inline constexpr auto kLast<CheckpointStore> = CheckpointStore::none;
template <>
inline constexpr auto kLast<Keeping> = Keeping::lost;
template <>
inline constexpr auto kLast<AffinityTo> = AffinityTo::self;
template <>
inline constexpr auto kLast<Reach> = Reach::network_switch;
template <>
inline constexpr auto kLast<JobState> = JobState::timeout;
template <>
inline constexpr auto kLast<Cause> = Cause::missing;
template <>
inline constexpr auto kLast<SlotKind> = SlotKind::mig;
template <>
inline constexpr auto kLast<Direction> = Direction::at_most;
template <>
inline constexpr auto kLast<ChangeKind> = ChangeKind::resume;
template <>
inline constexpr auto kLast<ReasonCode> = kLastReasonCode;

template <class E>
std::string_view word_of(E value) {
  return to_string(value);
}
inline std::string_view word_of(ReasonCode code) { return name(code); }

template <class E>
std::optional<E> parse_word(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(kLast<E>); ++i) {
    if (word_of(static_cast<E>(i)) == word) return static_cast<E>(i);
  }
  return {};
}
template <>
inline std::optional<ReasonCode> parse_word<ReasonCode>(std::string_view word) {
  return parse_reason_code(word);
}

}  // namespace paceline
