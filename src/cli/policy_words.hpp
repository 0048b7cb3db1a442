// What commands that choose a policy share: its name and parameters as typed, the request they
// make, and the sentence that tells of a switch.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/document.hpp"

namespace paceline {

struct PolicyWords {
  std::vector<std::string> name;
  std::vector<std::string> parameters;  // "--key value" and "--key=value" pairs; "--key" alone, or
                                        // before another one, is true
};

std::shared_ptr<PolicyWords> declare_policy(Options& options);
// The body of a request. Errors: invalid.
Result<std::string> policy_body(const PolicyWords& typed);

// "The policy is srtf now; it was fifo. Nothing restarts.\n"
std::string switch_sentence(const Document& answer);

}  // namespace paceline
