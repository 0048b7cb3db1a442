-- Everybody trains, and the slots are shared evenly.
--
-- Objective:   as many jobs as possible, then equal sizes.
-- Rule:        minimum sizes in arrival order as far as they fit, those who run first; then what is
--              left in turn, one step each, up to `max`. Jobs grow and shrink while they run.
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

  local growing = {}
  for _, entry in ipairs(plan) do
    if entry.job.resizable or entry.job.workers == 0 then growing[#growing + 1] = entry end
  end
  while #growing > 0 do
    local still = {}
    for _, entry in ipairs(growing) do
      local job = entry.job
      local need = job.step * job.slots_per_worker
      if entry.workers + job.step <= job.max and need <= free then
        entry.workers, entry.reason = entry.workers + job.step, "an even share"
        free = free - need
        still[#still + 1] = entry
      end
    end
    growing = still
  end
  return plan
end
