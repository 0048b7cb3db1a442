// The counting half of most rules: how many workers each job would have if only the number of slots
// counted. settle() is the other half: where, at what price, and with whose slots.
//
//   Shares shares(snapshot, draft, kArrival, Sizes::smallest);
//   shares.running_first();     // running jobs keep their minimum, waiting ones get one of the rest
//   shares.spread_in_turn();    // the rest, one step at a time
//   settle(snapshot, draft,
//          {.wishes = shares.wishes(), .rest = Rest{kArrival, Sizes::smallest, ""}});
//
// A free slot counts, wherever it is: also one that a waiting job can't use. divide() is for rules
// that give smallest sizes first: there such a job starts nevertheless if others could make room
// for it by shrinking, and holds no share if they could not.
//
// Cost: O(running + admitted · log waiting) where the running jobs' order has changed little, and
// O(slots) for spreading.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/waiting_order.hpp"
#include "plan/draft.hpp"
#include "policy/harm.hpp"
#include "policy/orders.hpp"
#include "policy/running_line.hpp"
#include "policy/settle.hpp"

namespace paceline {

// A job that slots are divided among: what it has, and what it would have. Says all that counting
// needs: jobs lie far apart in memory.
struct Contender {
  const Job* job = nullptr;
  OrderKey key;
  std::int32_t now = 0;      // workers it has
  std::int32_t workers = 0;  // workers it would have
  std::int32_t most = 0;     // it could have
  std::int32_t least = 0;    // it must have, if any
  std::int32_t step = 1;     // its sizes are multiples of it
  std::int32_t slots_per_worker = 1;

  [[nodiscard]] std::int32_t slots(std::int32_t n) const { return n * slots_per_worker; }
  [[nodiscard]] std::int32_t least_slots() const { return slots(least); }
};

class Shares {
 public:
  // Jobs in order, each at first with its size in `sizes`. A job whose gang is on its way counts as
  // running (model/running_table.hpp). A running job that can't be resized has its size alone; one
  // that can't be changed at all is left out.
  // `left_out`: waiting jobs that get nothing.
  Shares(const Snapshot& snapshot, Draft& draft, const Order& order, Sizes sizes,
         std::vector<JobId> left_out = {});

  // A running job keeps its smallest size; a waiting one gets it where it still fits, in order.
  void running_first();
  struct InOrder {
    std::span<const OrderKey> apart{};  // waiting jobs with keys of their own
    // At wanted sizes a running job that keeps its size takes its slots and is no contender,
    // unless all are to be.
    bool all_contend = false;
  };
  // Running and waiting jobs alike, in order: a job that still fits gets a size, the others
  // nothing.
  void all_in_order(const InOrder& how);
  void all_in_order() { all_in_order({}); }

  // Waiting jobs that have no size yet get one of `sizes` where it still fits, in order.
  void admit_more(Sizes sizes);

  // Running jobs that may be asked for their slots. Only jobs that can't be stopped have a size yet.
  // The rule looks at waiting jobs itself: at no more of them than could get a size.
  void all_running();
  // Running jobs that may be asked for their slots and the first waiting ones, as many as could
  // have their smallest size if they had all slots. Only jobs that can't be stopped have a size
  // yet.
  void all_that_could_start();

  // What is left, one step at a time in turn, in order, among those that have a size.
  void spread_in_turn();
  // What is left, one step at a time to the job that gains most; gain(contender) at or below 0:
  // none.
  void spread_to_largest(const std::function<double(const Contender&)>& gain);

  [[nodiscard]] std::vector<Contender>& contenders() { return contenders_; }
  // A waiting job, to be added once it has a size; nothing: it may not start yet.
  [[nodiscard]] std::optional<Contender> waiting(const Job& job, const OrderKey& key);
  // The next on a walk in order that needs at most so many slots, which never grow.
  [[nodiscard]] std::optional<Contender> next_waiting(WaitingOrder::Walk& walk, std::int64_t slots);
  // Puts what was added behind the first `running` contenders, which are in order, among them.
  void put_in_order(std::size_t running);

  [[nodiscard]] std::int64_t left() const { return left_; }  // slots that no job has
  // The same with those that are kept for a waiting job: what a start could have.
  [[nodiscard]] std::int64_t room() const { return left_ + kept_; }
  void take(Contender& contender, std::int32_t workers);  // sets its size, counts the slots
  // Of the contenders whose size would change. `owed`: are they owed what others give up?
  [[nodiscard]] std::vector<Wish> wishes(Owed owed = Owed::no) const;

 private:
  using Row = RunningTable::Row;
  [[nodiscard]] bool takes_part(const Row& row, bool stoppable) const;
  [[nodiscard]] bool may_start(const Job& job) const;
  [[nodiscard]] Contender contender_of_running(const Row& row, const OrderKey& key) const;
  [[nodiscard]] Contender contender_of_waiting(const Job& job, const OrderKey& key) const;
  void add_running(bool stoppable);
  void add_waiting(std::int64_t slots);
  void await_back_offs();
  void free_running(const std::vector<Row>& rows);
  void add_in_order(const RunningLine& line, const RunningLine::Rank& rank, bool all);
  void add_apart(const OrderKey& key);
  bool give_least(Contender& contender);
  bool growable(const Contender& contender) const;

  const Snapshot& snapshot_;
  Draft& draft_;
  Order order_;
  Sizes sizes_;
  std::vector<Contender> contenders_;
  std::int64_t left_ = 0;
  std::optional<JobId> kept_for_;
  std::int64_t kept_ = 0;  // slots kept for that job, until it has its own
  std::vector<JobId> left_out_;
};

// Divides smallest sizes first, as `rule` says, and settles.
void divide(const Snapshot& snapshot, Draft& draft, const Order& order,
            const std::function<void(Shares&)>& rule, Intent intent);

// Puts jobs that are otherwise equal in the order in which they keep their slots: what the order
// puts first (larger priority), then running jobs, the one that would be hurt most first (policy/harm.hpp), then waiting
// ones; the rest by arrival. Returns the harm of each, of those that wait none.
std::vector<Harm> sort_by_harm(const Snapshot& snapshot, std::vector<Contender*>& contenders);

// What the next step adds to the job's speed, for each slot of it. The unit is the job's speed with
// one worker, so that jobs compare.
double gain_per_slot(const Contender& contender);

}  // namespace paceline
