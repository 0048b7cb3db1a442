-- Everybody trains one job at a time.
--
-- Objective:   nobody can fill the machine alone.
-- Rule:        arrival order, at most `jobs` running jobs of each user; what doesn't fit is passed
--              over.
-- Needs:       nothing.

local jobs_max = parameter("jobs", 1)

function decide(cluster)
  local runs = {}
  for _, job in ipairs(cluster.running) do runs[job.user] = (runs[job.user] or 0) + 1 end
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    local need = job.want * job.slots_per_worker
    if (runs[job.user] or 0) >= jobs_max then
      plan[#plan + 1] = {job = job, workers = 0, reason = "waits for another job of " .. job.user}
    elseif need <= free then
      free = free - need
      runs[job.user] = (runs[job.user] or 0) + 1
      plan[#plan + 1] = {job = job, workers = job.want, reason = job.user .. " has no other"}
    end
  end
  return plan
end
