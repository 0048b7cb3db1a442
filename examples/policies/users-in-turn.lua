-- Users take turns: the next free slots go to whoever holds the fewest.
--
-- Objective:   a person with one job doesn't wait behind a person with a hundred.
-- Rule:        of the users who wait, the one with the fewest slots comes next (then the name), with
--              the first of that user's jobs, at its `want`. Who doesn't fit is passed over.
-- Needs:       nothing.

function decide(cluster)
  local held, queue, at = {}, {}, {}
  for _, job in ipairs(cluster.running) do
    held[job.user] = (held[job.user] or 0) + job.workers * job.slots_per_worker
  end
  for _, job in ipairs(cluster.waiting) do
    local user = job.user
    queue[user], at[user] = queue[user] or {}, 1
    table.insert(queue[user], job)
  end

  local function poorest()
    local best
    for user, jobs in pairs(queue) do
      local waits = at[user] <= #jobs
      if waits and (not best or (held[user] or 0) < (held[best] or 0)) then best = user end
    end
    return best
  end

  local plan, free = {}, cluster.free
  for user in poorest do
    if free == 0 then break end
    local job = queue[user][at[user]]
    at[user] = at[user] + 1
    local need = job.want * job.slots_per_worker
    if need <= free then
      free = free - need
      held[user] = (held[user] or 0) + need
      plan[#plan + 1] = {job = job, workers = job.want, reason = "it is the turn of " .. user}
    end
  end
  return plan
end
