#include <fmt/format.h>

#include "cli/commands/shapes.hpp"

namespace paceline {
namespace {

// What roff would read as its own is put in its words.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    at_start = c == '\n';
  }
  return out;
}

std::string option_page(const OptionHelp& option) {
  std::string names;
  for (const auto& name : names_of(option))
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  if (!option.value.empty()) names += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", names, roff(option.text));
}

std::string command_page(const CommandShape& shape) {
  std::string page = fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(shape.command->name),
                                 roff(shape.command->summary), roff(shape.usage));
  if (!shape.words_help.empty())
    page += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(shape.words), roff(shape.words_help));
  for (const auto& option : shape.options) page += option_page(option);
  return page + fmt::format(".PP\nExample:\n.PP\n.EX\n{}\n.EE\n", roff(shape.command->example));
}

}  // namespace

std::string man_page(std::span<const CommandShape> shapes) {
  std::string page =
      ".TH PACELINE 1 \"\" \"Paceline\" \"User commands\"\n"
      ".SH NAME\npaceline \\- shares GPU machines among people who train deep\\-learning models\n"
      ".SH SYNOPSIS\n.B paceline\n[\\fB\\-\\-server\\fR \\fIPATH\\fR] \\fICOMMAND\\fR "
      "[\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\nHand it a training script and say what \"good enough\" means: it starts "
      "the "
      "job's workers together or not at all, grows and shrinks them while they run, and tells at "
      "any "
      "time why a job waits and what would change that.\n.SH COMMANDS\n";
  for (const auto& shape : shapes) page += command_page(shape);
  return page +
         ".SH ENVIRONMENT\n.TP\n\\fBPACELINE_DIR\\fR\nThe server's directory. The order is: "
         "\\fB\\-\\-server\\fR, this, \\fI/run/paceline\\fR, the data folder.\n"
         ".TP\n\\fBXDG_DATA_HOME\\fR\nParent of the data folder (\\fI~/.local/share\\fR).\n"
         ".TP\n\\fBNO_COLOR\\fR, \\fBTERM=dumb\\fR\nNo colours.\n"
         ".SH FILES\n.TP\n\\fI/run/paceline\\fR, \\fI/var/lib/paceline\\fR\nWhere the machine's "
         "server serves, and what it keeps.\n.TP\n\\fI/etc/default/paceline\\fR\nOptions of the "
         "machine's server.\n";
}

}  // namespace paceline
