// Makes the messages of a session arrive once and in order over a network that loses, doubles and
// reorders frames. The sender keeps what was not received and sends it again, from the first one
// missing, when an answer is overdue; the receiver hands on only the next number. Both are plain
// values: time comes in, frames go out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/time.hpp"

namespace paceline {

inline constexpr std::uint64_t kStreamWindow = 256;  // messages under way at a time
inline constexpr Duration kResendFirst = std::chrono::seconds{1};
inline constexpr Duration kResendMax = std::chrono::seconds{16};  // the wait doubles up to this

// The sender's half. A message is kept until forget(): the server forgets what was received, an
// agent what is durable.
template <class Message>
class Outbox {
 public:
  void push(Message message) { messages_.push_back(std::move(message)); }

  // A new session: all that is kept is to be sent (again).
  void restart() {
    forgotten_ = sent_ = received_ = 0;
    resend_at_.reset();
    pause_ = kResendFirst;
  }
  // REQUIRES: nothing was sent since restart().
  void push_front(Message message) { messages_.push_front(std::move(message)); }

  // Calls send(number, message) for everything that is due.
  template <class Send>
  void flush(Time now, Send send) {
    if (resend_at_ && now >= *resend_at_) go_back();
    bool any = false;
    while (sent_ < last() && sent_ < received_ + kStreamWindow) {
      ++sent_;
      any = true;
      send(sent_, messages_[sent_ - forgotten_ - 1]);
    }
    if (any && !resend_at_) resend_at_ = now + pause_;
  }

  // The other side took everything up to `number`.
  void received(Time now, std::uint64_t number) {
    if (number <= received_ || number > last()) return;
    received_ = number;
    sent_ = std::max(sent_, received_);
    pause_ = kResendFirst;
    resend_at_ = now + pause_;
    rest();
  }

  // Calls forgotten(message) for everything up to `number` and drops it.
  template <class Forgotten>
  void forget(std::uint64_t number, Forgotten forgotten) {
    number = std::min(number, received_);
    for (; forgotten_ < number; ++forgotten_) {
      forgotten(messages_.front());
      messages_.pop_front();
    }
    rest();
  }
  void forget(std::uint64_t number) {
    forget(number, [](const Message&) {});
  }

  [[nodiscard]] std::optional<Time> next_due() const { return resend_at_; }
  [[nodiscard]] const std::deque<Message>& kept() const { return messages_; }

  // Drops every message not sent yet for which `which` holds.
  template <class Which>
  void drop_unsent(Which which) {
    messages_.erase(std::remove_if(unsent(), messages_.end(), which), messages_.end());
  }

 private:
  [[nodiscard]] std::uint64_t last() const { return forgotten_ + messages_.size(); }
  auto unsent() { return messages_.begin() + static_cast<std::ptrdiff_t>(sent_ - forgotten_); }

  // From the first one missing; if none is, the last one again, to be told what is durable.
  void go_back() {
    sent_ = std::min(received_, last() - 1);
    pause_ = std::min(2 * pause_, kResendMax);
    resend_at_.reset();
  }

  void rest() {
    if (forgotten_ == sent_) resend_at_.reset();
  }

  std::deque<Message> messages_;  // numbers forgotten_ + 1 …
  std::uint64_t forgotten_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::optional<Time> resend_at_;
  Duration pause_ = kResendFirst;
};

// The receiver's half: keeps what came early until its turn.
//
//   inbox.put(frame.number, std::move(*frame.message));
//   while (auto message = inbox.next()) handle(*message);
template <class Message>
class Inbox {
 public:
  // A repeat, and what is further ahead than a window, is dropped.
  void put(std::uint64_t number, Message message) {
    owes_answer_ = true;
    if (number > taken_ && number <= taken_ + kStreamWindow)
      early_.try_emplace(number, std::move(message));
  }
  // The next message, once.
  std::optional<Message> next() {
    if (early_.empty() || early_.begin()->first != taken_ + 1) return {};
    ++taken_;
    return std::move(early_.extract(early_.begin()).mapped());
  }
  void restart() { *this = {}; }

  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  // The sender waits to hear what was taken.
  [[nodiscard]] bool owes_answer() const { return owes_answer_; }
  void answered() { owes_answer_ = false; }

 private:
  std::map<std::uint64_t, Message> early_;
  std::uint64_t taken_ = 0;
  bool owes_answer_ = false;
};

}  // namespace paceline
