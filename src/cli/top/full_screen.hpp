// The whole terminal, for as long as this lives: its other screen, keys as they are typed, no cursor.
// However the process ends, short of SIGKILL, the terminal is as it was (docs/decisions/0068).
//
// It speaks ECMA-48 and xterm's private modes, as every terminal does that can be drawn on.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "cli/client/raw_terminal.hpp"
#include "cli/top/rows.hpp"
#include "cli/words/console.hpp"

namespace paceline {

class FullScreen {
 public:
  // REQUIRES: both ends of the console are a terminal that can_draw(); no other FullScreen is alive.
  explicit FullScreen(Console& console);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Whether input and output are a terminal, and one that knows more than lines.
  static bool can_draw(const Console& console, const Environment& environment);

  // Writes the rows that changed, the first at the top.
  void show(const Rows& rows);
  // Everything anew with the next show().
  void forget() { shown_.clear(); }
  // The terminal as it was while the process stops, or (0) all of the command that it is a part of, as
  // by Ctrl-Z; returns once it goes on. It goes on at once where no shell could bring it back.
  void suspend(pid_t process);

 private:
  void enter();
  void leave();

  Console& console_;
  std::optional<RawTerminal> raw_;
  Rows shown_;
};

}  // namespace paceline
