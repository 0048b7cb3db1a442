// A terminal of whose keys and signals a command wants each.
#pragma once

#include <termios.h>

#include <csignal>
#include <initializer_list>

#include "files/fd.hpp"

namespace paceline {

// The terminal in raw mode until the end of the scope: each key comes as it is typed, Ctrl-C too, and
// none is shown. Nothing happens where `fd` is no terminal.
class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // As it was before; nothing if it was not taken.
  [[nodiscard]] const termios* former() const { return taken_ ? &former_ : nullptr; }

 private:
  int fd_;
  termios former_{};
  bool taken_ = false;
};

// Signals as a descriptor until the end of the scope, for this thread and those that it starts.
class CaughtSignals {
 public:
  explicit CaughtSignals(std::initializer_list<int> signals);
  ~CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  // Can be read once a signal came.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next signal that came, or 0.
  [[nodiscard]] int next() const;

 private:
  sigset_t caught_{}, former_{};
  UniqueFd fd_;
};

}  // namespace paceline
