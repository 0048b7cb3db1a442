#include "model/gang.hpp"

#include <algorithm>
#include <utility>

namespace paceline {

bool Gang::all_started() const {
  return std::none_of(workers.begin(), workers.end(),
                      [](const Worker& w) { return w.state == WorkerState::assigned; });
}

bool Gang::all_ended() const {
  return std::all_of(workers.begin(), workers.end(),
                     [](const Worker& w) { return w.state == WorkerState::ended; });
}

bool Gang::any_ended() const {
  return std::any_of(workers.begin(), workers.end(),
                     [](const Worker& w) { return w.state == WorkerState::ended; });
}

const Ending* Gang::first_failure() const {
  const Ending* first = nullptr;
  for (const auto& w : workers) {
    if (!w.ending || w.ending->clean()) continue;
    const auto when = [](const Ending& e) { return std::pair{e.ours(), e.at}; };
    if (!first || when(*w.ending) < when(*first)) first = &*w.ending;
  }
  return first;
}

}  // namespace paceline
