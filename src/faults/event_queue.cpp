#include "faults/event_queue.hpp"

#include <algorithm>

namespace paceline::faults {

void EventQueue::at(Time when, std::function<void()> what) {
  waiting_.emplace(std::pair{std::max(when, now_), ++put_}, std::move(what));
}

bool EventQueue::run_next() {
  if (waiting_.empty()) return false;
  auto next = waiting_.extract(waiting_.begin());
  now_ = next.key().first;
  ++done_;
  next.mapped()();
  return true;
}

}  // namespace paceline::faults
