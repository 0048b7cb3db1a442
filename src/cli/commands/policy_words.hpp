// What commands that choose or switch a policy share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/kinds.hpp"
#include "cli/words/document.hpp"

namespace paceline {

// A command that names a policy with its parameters ("--key value" and "--key=value"; "--key" alone,
// or before another one, is true), puts that at `target`, and tells of the answer.
Command choice_command(Command command, std::string_view target, const Tell& tell);

struct PolicyWords {
  std::vector<std::string> name;
  std::vector<std::string> parameters;
};
void declare_choice(Options& options, PolicyWords& typed);
// The body that names it. Errors: invalid.
Result<std::string> choice_body(const PolicyWords& typed);

// A command that switches policies and takes --yes. What the next round would stop or lose is played
// first; unless --yes says so, a person is asked, and without a terminal it is refused (conflict).
struct PolicySwitch {
  std::string method, target, body;  // of the request
};
using ReadSwitch = std::function<Result<PolicySwitch>()>;
// REQUIRES: called while the command's options are declared.
Action switch_action(Options& options, const ReadSwitch& read);

}  // namespace paceline
