// A question that may be answered late or never, as one to a name service (getpwnam(3)): asked on a
// thread of its own, which is left behind where nobody waits for it any more.
//
//   Inquiry<std::string> name([uid] { return find_user(uid); });
//   if (const auto known = name.answer()) …     // looked for now and then
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "files/chores.hpp"

namespace paceline {

template <class Answer>
class Inquiry {
 public:
  // What `ask` works on is its own: it may outlive this. Must not throw.
  explicit Inquiry(std::function<Answer()> ask) {
    chores_.add([told = told_, ask = std::move(ask)] { told->take(ask()); });
  }

  // Nothing: there is none within `patience`.
  std::optional<Answer> answer(std::chrono::milliseconds patience = {}) {
    chores_.begin();
    std::unique_lock lock(told_->mutex);
    if (patience > std::chrono::milliseconds{0})
      told_->changed.wait_for(lock, patience, [this] { return told_->answer.has_value(); });
    return told_->answer;
  }

 private:
  struct Told {
    void take(Answer outcome) {
      const std::lock_guard lock(mutex);
      answer = std::move(outcome);
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Answer> answer;
  };

  std::shared_ptr<Told> told_ = std::make_shared<Told>();
  Chores chores_{std::chrono::milliseconds{0}};
};

}  // namespace paceline
