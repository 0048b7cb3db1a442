#include "faults/twin.hpp"

namespace paceline::faults {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStays = 20s, kIsAway = 40s;  // at most
constexpr Duration kTurn = 5min;                 // with the first one, once it is calm

}  // namespace

Twin::Twin(Scene& scene, FaultyMachine& first, FaultyMachine& second)
    : scene_(scene), first_(first), second_(second) {
  go();
}

void Twin::come() {
  reach(true);
  scene_.queue.after(scene_.calm ? kTurn : scene_.up_to(kStays), [this] { go(); });
}

void Twin::go() {
  reach(false);
  scene_.queue.after(scene_.calm ? kTurn : scene_.up_to(kIsAway), [this] { come(); });
}

void Twin::reach(bool reached) {
  if (reached) scene_.ledger.note("machine of the same name", second_.name());
  reach(second_, reached);
  if (scene_.calm) reach(first_, !reached);
}

void Twin::reach(FaultyMachine& machine, bool reached) {
  machine.link().cut(reached ? FaultyLink::Cut{} : kBothWays);
  if (reached) return;
  machine.link().break_connection();
  if (scene_.calm) scene_.ledger.away(machine.id(), scene_.queue.now() + kTurn);
}

}  // namespace paceline::faults
