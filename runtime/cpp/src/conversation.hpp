// A connection at a meeting: a greeting, then one message each way.
#pragma once

#include <poll.h>

#include <string>
#include <string_view>

#include "greeting.hpp"

namespace paceline::runtime {

class Conversation {
 public:
  using State = Greeting::State;

  explicit Conversation(Greeting greeting) : greeting_(std::move(greeting)) {}

  // After the greeting.
  void say(std::string_view text);
  // As far as it goes without waiting. Done: all is said, and a message was heard.
  State step();
  [[nodiscard]] pollfd awaits() const;

  [[nodiscard]] int peer() const { return greeting_.peer(); }
  [[nodiscard]] bool is_foreign() const { return greeting_.is_foreign(); }
  // REQUIRES: it is done.
  [[nodiscard]] std::string_view heard() const { return std::string_view(in_).substr(kLength); }

 private:
  static constexpr std::size_t kLength = 4;

  State send();
  State receive();
  [[nodiscard]] std::size_t missing() const;

  Greeting greeting_;
  Descriptor fd_;  // once it is greeted
  std::string out_, in_;
  std::size_t said_ = 0;
};

}  // namespace paceline::runtime
