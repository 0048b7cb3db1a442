#include "faults/strangers.hpp"

#include "faults/world_habits.hpp"

namespace paceline::faults {
namespace {

constexpr Duration kEveryMax = std::chrono::seconds{20};  // from one to the next
constexpr Duration kStayMax = std::chrono::minutes{2};

}  // namespace

void Strangers::begin() {
  for (int i = 0; i < kPortsTakenForGood; ++i) take_port(Stay::for_good);
  come();
}

void Strangers::come() {
  if (scene_.calm) return;
  take_port(Stay::for_a_while);
  scene_.queue.after(Duration{rng_.between(0, kEveryMax.count())}, [this] { come(); });
}

void Strangers::take_port(Stay stay) {
  FaultyMachine& machine = machines_[rng_.below(machines_.size())];
  const auto block = machine.host().ports().let_stranger_in(rng_.next());
  const Duration span{rng_.between(0, kStayMax.count())};
  if (!block) return;
  scene_.ledger.note("port taken", machine.name());
  if (stay == Stay::for_good) return;
  scene_.queue.after(
      span, [&machine, block = *block] { machine.host().ports().let_stranger_out(block); });
}

}  // namespace paceline::faults
