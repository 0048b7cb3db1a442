// No job starves: a policy with patience. A waiting job that was passed over for longer than its
// patience is served before the policy decides; one at a time, larger priority first, then whose
// patience ran out first.
//
// - If it fits on what is free, it starts; under an elastic policy also where it fits once others
//   shrink to their smallest sizes.
// - Else slots are kept for it until it starts: those where it will fit first, by what is known of
//   lengths (reservation.hpp). No other job starts there, except one that is likely to be gone
//   before the last of these slots is free, and none grows. All other slots remain the policy's.
//   After as long as the job's patience a reservation that has not come true gives way to a better
//   one, if there is one; each reservation stays for twice as long as the one before.
// - A job that was served is not stopped again before it has run for as long as its patience was.
// - The jobs that are protected so hold at most kServedPart of the slots, or are one job. Under a
//   policy that takes nothing back, all served jobs that still run count. So where more jobs wait
//   than the cluster can serve, the policy's order is kept for most of it.
//
// A job never grows into slots that a waiting job before it in line is short of, whatever the
// patience.
//
// Source: reservations as in EASY backfill (Lifka, 1995), where lengths are known; bounds on what
//         is spent on them are ours (docs/decisions/0041-patience.md).
// Cost:   O(priorities · log waiting) where no job's patience has run out.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "policy/patience.hpp"
#include "policy/policy.hpp"
#include "policy/reservation.hpp"

namespace paceline {

inline constexpr double kServedPart = 0.05;
inline constexpr std::string_view kReservation = "kept";       // memo: the reservation
inline constexpr std::string_view kPatienceWord = "patience";  // the parameter of every policy

class Patient final : public Policy {
 public:
  struct Traits {
    bool elastic = false;  // sizes between the smallest and the wanted one will do
    bool fills = false;    // it leaves no slot free that a waiting job fits on
    bool stays = false;    // it takes nothing back: a started job keeps its slots until its end
  };
  // REQUIRES: the patience is not off.
  Patient(std::unique_ptr<Policy> policy, const Patience& patience, const Traits& traits)
      : policy_(std::move(policy)), patience_(patience), traits_(traits) {}

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Result<void> try_decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return policy_->quiet(); }
  [[nodiscard]] const Patience* patience() const override { return &patience_; }

 private:
  std::unique_ptr<Policy> policy_;
  Patience patience_;
  Traits traits_;
};

// The reservation that the last round left.
std::optional<Reservation> reservation(const State& state);
// Was the job served, and is it not to be stopped yet?
bool is_protected(const Snapshot& snapshot, JobId job);

}  // namespace paceline
