#include "faults/fault_scripts.hpp"

namespace paceline::faults {
namespace {

// In turn from the newest; a job that runs and is not named keeps what it has.
constexpr const char* kNewestFirst = R"lua(
function decide(cluster)
  local plan, free = {}, cluster.free
  for i = #cluster.waiting, 1, -1 do
    local job = cluster.waiting[i]
    local need = job.min * job.slots_per_worker
    if need <= free then
      free = free - need
      plan[#plan + 1] = {job = job, workers = job.min, reason = "the newest"}
    end
  end
  return plan
end
)lua";

// Stops the jobs that run for the first that waits.
constexpr const char* kTakesTurns = R"lua(
function decide(cluster)
  local plan, free = {}, cluster.slots
  for _, job in ipairs(cluster.waiting) do
    local need = job.min * job.slots_per_worker
    if need <= free then
      free = free - need
      plan[#plan + 1] = {job = job, workers = job.min, reason = "its turn"}
    end
  end
  for _, job in ipairs(cluster.running) do
    local need = job.workers * job.slots_per_worker
    local stays = need <= free
    if stays then free = free - need end
    plan[#plan + 1] = {job = job, workers = stays and job.workers or 0, reason = "no turn"}
  end
  return plan
end
)lua";

// Each of the following does well on the cluster that a script is tried on (scheduler/busy_cluster.hpp).

// Fails while one job runs and others wait.
constexpr const char* kFails = R"lua(
function decide(cluster)
  if #cluster.waiting > 0 and #cluster.running == 1 then error("too much for me") end
  local first = cluster.waiting[1]
  if not first or first.min * first.slots_per_worker > cluster.free then return {} end
  return {{job = first, workers = first.min}}
end
)lua";

// Asks for more than there is while one job runs.
constexpr const char* kAsksTooMuch = R"lua(
function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    free = free - job.min * job.slots_per_worker
    if free < 0 then break end
    plan[#plan + 1] = {job = job, workers = #cluster.running == 1 and 1000 or job.min}
  end
  return plan
end
)lua";

// Never ends while two wait.
constexpr const char* kOverruns = R"lua(
function decide(cluster)
  while #cluster.waiting == 2 do end
  local first = cluster.waiting[1]
  if not first or first.min * first.slots_per_worker > cluster.free then return {} end
  return {{job = first, workers = first.min}}
end
)lua";

}  // namespace

std::vector<std::string> fault_scripts() {
  return {kNewestFirst, kTakesTurns, kFails, kAsksTooMuch, kOverruns};
}

}  // namespace paceline::faults
