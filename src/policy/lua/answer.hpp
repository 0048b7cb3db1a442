// What decide(cluster) returned: a list of {job = …, workers = …, reason = "…", owed = …}, most
// important first.
#pragma once

#include <string>
#include <vector>

#include "policy/lua/cluster_view.hpp"

namespace paceline {

struct Choice {
  const Job* job = nullptr;
  std::int32_t workers = 0;  // 0: it should not run
  std::string reason;        // the script's own words; may be empty, unless slots are owed
  Owed owed = Owed::no;      // if it waits: are the slots owed to it that others give up?
};

// Reads the list on top of the stack. Raises, with a sentence for the script's author, for anything
// but a plan that the cluster could have: a job that was not shown or stands twice; a number that
// is negative, fractional, outside the job's range or no multiple of its step; more slots than
// there are; slots that are owed without a reason. A job may always keep what it has.
std::vector<Choice> read_answer(lua_State* lua, const ClusterView& view);

inline constexpr std::size_t kScriptReasonMax = 200;

}  // namespace paceline
