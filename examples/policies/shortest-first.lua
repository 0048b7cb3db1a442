-- The job that is done soonest starts first; small ones slip past what doesn't fit.
--
-- Objective:   a short mean waiting time.
-- Rule:        the waiting jobs by their remaining time, shortest first, each with `want` workers;
--              what doesn't fit is passed over. Jobs of unknown length come last. Nobody who runs
--              is stopped.
-- Needs:       lengths: `expect` in the job, or progress that tells its total.

function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(by("remaining", cluster.waiting)) do
    local need = job.want * job.slots_per_worker
    if need <= free then
      free = free - need
      plan[#plan + 1] = {job = job, workers = job.want, reason = "it is the shortest that fits"}
    end
  end
  return plan
end
