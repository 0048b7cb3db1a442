// For folding what this program can't vouch for, a database for instance: a check that fails there is
// no mistake of ours, and no reason to end.
//
//   if (const auto what = failed_check([&] { apply(state, entry); })) …   // "the job exists"
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace paceline {

// Runs `work`. A check that fails in it, on this thread, ends it there: what must have held. What
// `work` was changing is good for nothing then.
std::optional<std::string> failed_check(const std::function<void()>& work);

}  // namespace paceline
