#include "cli/commands/agree.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace paceline {
namespace {

// One line; the end of the input is a no.
bool says_yes(int fd) {
  std::string line;
  char c = 0;
  while (::read(fd, &c, 1) == 1 && c != '\n' && line.size() < 80) line += c;
  return line == "y" || line == "Y" || line == "yes";
}

}  // namespace

Result<void> agree(const Context& context, const std::string& loss) {
  Console& console = context.console;
  if (::isatty(console.input_fd()) != 1) {
    return fail(ErrorCode::conflict, loss,
                fmt::format("Nothing was changed. If that is wanted: '{} --yes'.", context.typed));
  }
  console.note(loss + " Go on? [y/N]");
  if (says_yes(console.input_fd())) return {};
  return fail(ErrorCode::conflict, "Nothing was changed.");
}

}  // namespace paceline
