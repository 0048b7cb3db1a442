-- Users take turns: the next free slots go to whoever holds the fewest.
--
-- Objective:   a person with one job doesn't wait behind a person with a hundred.
-- Rule:        of the users who wait, the one with the fewest slots comes next (then the name), with
--              the first of that user's jobs, at its `want`. Who doesn't fit is passed over.
-- Needs:       nothing.

function decide(cluster)
  local held, queue, users = {}, {}, {}
  for _, job in ipairs(cluster.running) do
    held[job.user] = (held[job.user] or 0) + job.workers * job.slots_per_worker
  end
  for _, job in ipairs(cluster.waiting) do
    local user = job.user
    queue[user] = queue[user] or {next = 1}
    table.insert(queue[user], job)
  end
  for user in pairs(queue) do users[#users + 1] = user end

  local function poorest()
    local best, least
    for i = 1, #users do
      local user = users[i]
      local has, theirs = held[user] or 0, queue[user]
      if theirs[theirs.next] and (not best or has < least) then best, least = user, has end
    end
    return best
  end

  local plan, free = {}, cluster.free
  for user in poorest do
    if free == 0 then break end
    local theirs = queue[user]
    local job = theirs[theirs.next]
    theirs.next = theirs.next + 1
    local need = job.want * job.slots_per_worker
    if need <= free then
      free = free - need
      held[user] = (held[user] or 0) + need
      plan[#plan + 1] = {job = job, workers = job.want, reason = "it is the turn of " .. user}
    end
  end
  return plan
end
