#include "cli/output.hpp"

#include <fmt/format.h>

#include <array>

#include "base/nearest.hpp"
#include "cli/interrupt.hpp"
#include "cli/patience.hpp"
#include "cli/units.hpp"

namespace paceline {
namespace {

struct FormatName {
  std::string_view name;
  Format format;
};

constexpr std::array kFormats = {FormatName{"table", Format::table},
                                 FormatName{"wide", Format::wide}, FormatName{"json", Format::json},
                                 FormatName{"name", Format::name}};

Result<Format> parse_format(const std::string& text) {
  for (const auto& known : kFormats) {
    if (known.name == text) return known.format;
  }
  return fail(ErrorCode::invalid, fmt::format("-o: '{}' is not a format.", text),
              "Formats are table, wide, json and name.");
}

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
  Patience patience(console);
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

Result<Output> read_output(const OutputOptions& options) {
  Output output;
  output.header = !options.no_header;
  output.watch = options.watch;
  if (options.format) {
    const auto format = parse_format(*options.format);
    if (!format) return fail(format.error());
    output.format = *format;
  }
  if (options.interval) {
    const auto interval = parse_duration(*options.interval);
    if (!interval)
      return fail(ErrorCode::invalid, "--interval: " + interval.error().message,
                  interval.error().hint);
    output.interval = *interval;
  }
  return output;
}

std::string json_text(const Document& document, const Console& console) {
  constexpr auto kReplace = Document::error_handler_t::replace;
  return document.dump(console.output_terminal() ? 2 : -1, ' ', false, kReplace) + "\n";
}

Result<int> show(Console& console, const Output& output,
                 const std::function<Result<std::string>()>& draw) {
  if (output.watch) return watch(console, output, draw);
  const auto text = draw();
  if (!text) return fail(text.error());
  console.print(*text);
  return 0;
}

}  // namespace paceline
