// The counting half of most rules: who would have how many workers if only the number of slots
// counted. settle() is the other half: where, at what price, and with whose slots.
//
//   Shares shares(snapshot, draft, kArrival, Sizes::smallest);
//   shares.running_first();     // who runs keeps its minimum, who waits gets one from the rest
//   shares.spread_in_turn();    // the rest, one step at a time
//   settle(snapshot, draft, shares.wishes(), {Owed::no, ""});
//
// Cost: O(running · log running + admitted · log waiting), and O(slots) for spreading.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/waiting_order.hpp"
#include "plan/draft.hpp"
#include "policy/running_line.hpp"
#include "policy/settle.hpp"

namespace paceline {

// What a job is given first: the size it wants, or its smallest.
enum class Sizes { wanted, smallest };

// Slots of the smallest size: what no start can do without.
std::int64_t least_slots(const Job& job);

extern const Order kArrival;   // who came first
extern const Order kShortest;  // who has least left at its wanted size (estimate/remaining.hpp)

struct Contender {
  const Job* job = nullptr;
  OrderKey key;
  std::int32_t now = 0;      // workers it has
  std::int32_t workers = 0;  // workers it would have
  std::int32_t most = 0;     // it could have
  std::int32_t least = 0;    // it must have, if any

  [[nodiscard]] std::int32_t step() const { return job->spec->mesh.step(); }
};

class Shares {
 public:
  // Jobs in order, each at first with its size in `sizes`. A job whose gang is on its way counts as
  // running (model/running_table.hpp). A running job that can't be resized has its size alone; one that can't be changed at
  // all is left out.
  Shares(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes);

  // Who runs keeps a smallest size, whoever waits gets one where it still fits, in order.
  void running_first();
  // Running and waiting alike, in order: whoever still fits gets a size, the others nothing.
  void all_in_order();
  // The same with other keys for who runs, and waiting jobs with keys of their own.
  void all_in_order(const RunningKeys& running, const std::vector<OrderKey>& apart);

  // Waiting jobs that have no size yet get one of `sizes` where it still fits, in order.
  void admit_more(Sizes sizes);

  // Running jobs that may be asked for their slots and all waiting ones that could start alone;
  // nobody has a size yet but who can't be stopped.
  void everybody();
  // Running jobs that may be asked for their slots and the first waiting ones, as many as could
  // have their smallest size if they had all slots; nobody has a size yet but who can't be stopped.
  void all_who_could();

  // What is left, one step at a time in turn, in order, among those that have a size.
  void spread_in_turn();
  // What is left, one step at a time to whoever gains most; gain(claim) at or below 0: none.
  void spread_to_largest(const std::function<double(const Contender&)>& gain);

  [[nodiscard]] std::vector<Contender>& claims() { return claims_; }
  [[nodiscard]] std::int64_t left() const { return left_; }  // slots that nobody has
  void take(Contender& claim, std::int32_t workers);         // sets its size, counts the slots
  [[nodiscard]] std::vector<Wish> wishes() const;

 private:
  using Row = RunningTable::Row;
  [[nodiscard]] bool takes_part(const Row& row, bool stoppable) const;
  [[nodiscard]] Contender claim_of_running(const Row& row, const OrderKey& key) const;
  [[nodiscard]] Contender claim_of_waiting(const Job& job, const OrderKey& key) const;
  void claim_running(bool stoppable);
  void claim_running(const Row& row, bool stoppable);
  void claim_waiting(std::int64_t room);
  void free_running(const std::vector<Row>& rows);
  void claim_in_order(const RunningLine& line, const RunningLine::Rank& rank, bool all);
  void claim_apart(const OrderKey& key);
  bool give_least(Contender& claim);
  bool growable(const Contender& claim) const;

  const Snapshot& snapshot_;
  Draft& draft_;
  Order order_;
  Sizes sizes_;
  std::vector<Contender> claims_;
  std::int64_t left_ = 0;
  std::optional<JobId> kept_for_;
  std::int64_t kept_ = 0;  // slots kept for that job, until it has its own
};

// Puts jobs of equal claim in the order in which they keep their slots: larger priority first, then
// who runs, whoever would be hurt most first (policy/harm.hpp), then who waits; the rest by arrival.
void sort_by_harm(const Snapshot& snapshot, std::vector<Contender*>& claims);

// What the next step adds to the job's speed, for each slot of it. The unit is the job's speed with
// one worker, so that jobs compare.
double gain_per_slot(const Contender& claim);

// Starts whatever fits on what is free, in order, each with its size.
void fill(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes);

// Why everybody waits who does: for slots, or for others ("jobs with less left") who go first.
void say_who_waits(const Snapshot& snapshot, Draft& draft, Sizes sizes, const std::string& others);

}  // namespace paceline
