-- Everybody trains, and the slots are shared evenly.
--
-- Objective:   as many jobs as possible, then equal sizes.
-- Rule:        minimum sizes in arrival order as far as they fit, those who run first; then one step
--              at a time to whoever has the fewest slots, up to `max`. Jobs grow and shrink while
--              they run.
-- Needs:       elastic jobs; the others keep the size they started with.

function decide(cluster)
  local plan, free = {}, cluster.slots

  local function add(job, workers)
    free = free - workers * job.slots_per_worker
    plan[#plan + 1] = {job = job, workers = workers}
  end

  for _, job in ipairs(cluster.running) do add(job, job.resizable and job.min or job.workers) end
  for _, job in ipairs(cluster.waiting) do
    if job.min * job.slots_per_worker <= free then add(job, job.min) end
  end

  local function smallest()
    local best
    for _, entry in ipairs(plan) do
      local job = entry.job
      local may_grow = (job.resizable or job.state == "PENDING")
        and entry.workers + job.step <= job.max and job.step * job.slots_per_worker <= free
      local slots = entry.workers * job.slots_per_worker
      if may_grow and (not best or slots < best.workers * best.job.slots_per_worker) then
        best = entry
      end
    end
    return best
  end

  for entry in smallest do
    entry.workers = entry.workers + entry.job.step
    free = free - entry.job.step * entry.job.slots_per_worker
    entry.reason = "an even share"
  end
  return plan
end
