// Workers of this server that live though their claim's file was removed by hand. Their supervisors end
// them within seconds, but until then their slots are in use: an agent that starts meanwhile asks the
// kernel for them. The path that it shows for a file proves nothing, for anybody can make that one in
// namespaces of their own: a claim is a file that only this server's user could have made.
//
//   const auto found = find_unclaimed(marks);
//   for (auto& [key, claim] : found->removed) …  // of supervisors: the claim as it was, and its lock
//   for (const ProcessKey& key : found->marked) …  // have living processes, claimed or not
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/linux/marks.hpp"
#include "base/result.hpp"

namespace paceline::agent {

struct Unclaimed {
  std::vector<std::pair<ProcessKey, ClaimFile>> removed;
  std::set<ProcessKey> marked;
};

// Reads all of /proc: some milliseconds on a busy machine. A process that doesn't show its environment in
// time is passed over with a warning: it holds nobody up. Errors: storage, where this process lacks what it
// needs to look.
Result<Unclaimed> find_unclaimed(const Marks& marks, const std::string& proc = "/proc");

// Whose claim a link of /proc/PID/fd shows, if its file lay in that directory and was removed:
// "/srv/agent/workers/7.2.0 (deleted)".
std::optional<ProcessKey> removed_claim(std::string_view link, const std::string& directory);

}  // namespace paceline::agent
