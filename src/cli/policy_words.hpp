// What commands that choose or switch a policy share.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/document.hpp"

namespace paceline {

// A command that names a policy with its parameters ("--key value" and "--key=value"; "--key" alone,
// or before another one, is true), puts that at `target`, and tells of the answer.
Command choice_command(Command command, std::string_view target, const Tell& tell);

// "The policy is srtf now; it was fifo. Nothing restarts.\n"
std::string switch_sentence(const Document& answer);

}  // namespace paceline
