// Tells listeners something, as long as they listen.
//
//   Signal<int> changed;
//   auto token = changed.listen([](int x) { … });   // until `token` is gone
//   changed.emit(7);
//
// Listeners may come and go, also their own, while they are told.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace paceline {

// Listens as long as it is held.
using ListenToken = std::shared_ptr<void>;

template <class... Args>
class Signal {
 public:
  using Listener = std::function<void(Args...)>;

  [[nodiscard]] ListenToken listen(Listener listener) {
    auto kept = std::make_shared<Listener>(std::move(listener));
    listeners_.push_back(kept);
    return kept;
  }

  void emit(Args... args) {
    std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
    const auto now = listeners_;
    for (const auto& each : now) {
      if (const auto listener = each.lock()) (*listener)(args...);
    }
  }

  // True if nobody listens.
  [[nodiscard]] bool idle() const {
    return std::ranges::all_of(listeners_, [](const auto& each) { return each.expired(); });
  }

 private:
  std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace paceline
