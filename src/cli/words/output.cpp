#include "cli/words/output.hpp"

#include <fmt/format.h>

#include <array>

#include "base/nearest.hpp"
#include "cli/words/units.hpp"

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

}  // namespace paceline
