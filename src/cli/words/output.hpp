// -o json|wide|name, --no-header, -w: how the commands that show something show it.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/words/console.hpp"
#include "cli/words/document.hpp"

namespace paceline {

enum class Format { table, wide, json, name };
enum class Watchable { no, yes };

// The words as typed; read_output() gives them a meaning.
struct OutputOptions {
  std::optional<std::string> format = {};
  std::optional<std::string> interval = {};
  bool no_header = false;
  bool watch = false;
};

struct Output {
  Format format = Format::table;
  bool header = true;
  bool watch = false;
  Duration interval = std::chrono::seconds{1};
};

// Errors: invalid.
Result<Output> read_output(const OutputOptions& options);

// A document of the API as it is printed: on several lines for a terminal, else on one.
std::string json_text(const Document& document, const Console& console);

}  // namespace paceline
