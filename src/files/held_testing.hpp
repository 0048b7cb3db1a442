// For tests: a name service that says what a test told it, and hangs about whom a test says.
//
//   HeldEntries<std::uint32_t, std::string> service;
//   service.tell(7, "ann");
//   service.hold(8);
//   Inquiries<std::uint32_t, std::optional<std::string>> names(service.find());
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace paceline {

// Waits until the condition holds, at most half a minute; false if it never did.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

template <class Key, class Entry>
class HeldEntries {
 public:
  HeldEntries() = default;
  ~HeldEntries() { release(); }
  HeldEntries(const HeldEntries&) = delete;
  HeldEntries& operator=(const HeldEntries&) = delete;

  [[nodiscard]] std::function<std::optional<Entry>(const Key&)> find() const {
    return [state = state_](const Key& key) { return state->find(key); };
  }
  // Nothing: there is none, as of all of whom nothing was told.
  void tell(const Key& key, std::optional<Entry> entry) {
    const std::lock_guard lock(state_->mutex);
    state_->told[key] = std::move(entry);
  }
  void hold(const Key& key) {
    const std::lock_guard lock(state_->mutex);
    state_->held.insert(key);
  }
  void release() {
    const std::lock_guard lock(state_->mutex);
    state_->held.clear();
    state_->changed.notify_all();
  }
  // So often it was asked.
  [[nodiscard]] int asked() const {
    const std::lock_guard lock(state_->mutex);
    return state_->asked;
  }

 private:
  struct State {
    std::optional<Entry> find(const Key& key) {
      std::unique_lock lock(mutex);
      ++asked;
      changed.wait(lock, [&] { return !held.contains(key); });
      const auto known = told.find(key);
      return known == told.end() ? std::nullopt : known->second;
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Key, std::optional<Entry>> told;
    std::set<Key> held;
    int asked = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace paceline
