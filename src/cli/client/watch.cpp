#include "cli/client/watch.hpp"

#include "cli/client/interrupt.hpp"
#include "cli/client/persistence.hpp"

namespace paceline {
namespace {

// The first lines of `text`, as many as the terminal shows, each clearing what stood there.
std::string screenful(const std::string& text, std::size_t height) {
  std::string screen = "\x1b[H";
  std::size_t at = 0, lines = 0;
  while (at < text.size() && lines + 1 < height) {
    const auto end = std::min(text.find('\n', at), text.size());
    screen.append(text, at, end - at).append("\x1b[K\n");
    at = end + 1;
    ++lines;
  }
  return screen + "\x1b[J";
}

Result<int> watch(Console& console, const Output& output,
                  const std::function<Result<std::string>()>& draw) {
  const Interrupt interrupt;
  Persistence patience(console);
  std::string shown;
  if (console.output_terminal()) console.print("\x1b[2J");
  while (!console.broken()) {
    const auto text = draw();
    if (text) patience.over();
    if (!text && patience.again(text.error())) continue;
    if (!text && Interrupt::pending() == 0) return fail(text.error());
    if (text && console.output_terminal()) console.print(screenful(*text, console.height()));
    if (text && !console.output_terminal() && *text != shown) console.print(*text);
    if (text) shown = *text;
    if (!Interrupt::sleep(output.interval)) break;
  }
  if (console.output_terminal()) console.print("\n");  // below the ^C
  return 0;
}

}  // namespace

Result<int> show(Console& console, const Output& output,
                 const std::function<Result<std::string>()>& draw) {
  if (output.watch) return watch(console, output, draw);
  const auto text = draw();
  if (!text) return fail(text.error());
  console.print(*text);
  return 0;
}

}  // namespace paceline
