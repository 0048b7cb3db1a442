// The board on a terminal, fed by a server, until the user leaves.
#pragma once

#include "base/time.hpp"
#include "cli/top/board.hpp"
#include "cli/words/console.hpp"
#include "http/client.hpp"

namespace paceline {

// REQUIRES: FullScreen::can_draw(console).
void run_live_view(Console& console, const ServerAddress& server, Duration interval, Board board);

}  // namespace paceline
