-- Whoever came first starts first, with the workers it wants; nobody overtakes.
--
-- Objective:   order. Nobody waits for a job that came later.
-- Rule:        the waiting jobs in arrival order (larger priority first), each with `want` workers,
--              until one doesn't fit. Running jobs keep what they have.
-- Needs:       nothing.

function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    free = free - job.want * job.slots_per_worker
    if free < 0 then break end
    plan[#plan + 1] = {job = job, workers = job.want, reason = "its turn came"}
  end
  return plan
end
