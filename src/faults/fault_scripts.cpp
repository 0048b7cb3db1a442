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

// Fails as soon as somebody waits while others run.
constexpr const char* kFails = R"lua(
function decide(cluster)
  if #cluster.waiting > 0 and #cluster.running > 1 then error("too much for me") end
  local first = cluster.waiting[1]
  return first and {{job = first, workers = first.min}} or {}
end
)lua";

// Asks for more than there is once three run.
constexpr const char* kAsksTooMuch = R"lua(
function decide(cluster)
  local plan = {}
  for _, job in ipairs(cluster.waiting) do
    plan[#plan + 1] = {job = job, workers = #cluster.running > 2 and 1000 or job.min}
  end
  return plan
end
)lua";

// Never ends once two wait.
constexpr const char* kOverruns = R"lua(
function decide(cluster)
  while #cluster.waiting > 2 do end
  local first = cluster.waiting[1]
  return first and {{job = first, workers = first.min}} or {}
end
)lua";

}  // namespace

std::vector<std::string> fault_scripts() {
  return {kNewestFirst, kTakesTurns, kFails, kAsksTooMuch, kOverruns};
}

}  // namespace paceline::faults
