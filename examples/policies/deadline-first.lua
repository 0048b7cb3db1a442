-- The nearest deadline first; jobs without one use what is left.
--
-- Objective:   few missed deadlines.
-- Rule:        all jobs by deadline, those without one last, in arrival order; `want` workers each,
--              or `min` where only that fits. A job that has a deadline may take the slots of
--              preemptible ones that have none.
-- Needs:       deadlines, for some jobs; scripts that resume, for the others.

function decide(cluster)
  local plan, free = {}, cluster.slots
  local sized = {}

  local function give(job, workers, reason)
    free = free - workers * job.slots_per_worker
    sized[job.id] = true
    plan[#plan + 1] = {job = job, workers = workers, reason = reason}
  end

  -- Who runs and may not be stopped keeps what it has.
  for _, job in ipairs(cluster.running) do
    if job.deadline or not job.preemptible then give(job, job.workers, "it stays") end
  end
  for _, job in ipairs(by("deadline")) do
    if not sized[job.id] then
      local room = free // job.slots_per_worker
      local workers = room >= job.want and job.want or room >= job.min and job.min or 0
      give(job, workers, job.deadline and "its deadline is the nearest" or "no deadline needs it")
    end
  end
  return plan
end
