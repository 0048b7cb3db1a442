-- Priority, and patience: who waits rises.
--
-- Objective:   important jobs first, and nobody waits for ever.
-- Rule:        the waiting jobs by priority plus `per_hour` for each hour they waited, largest first;
--              the first that doesn't fit keeps the free slots for itself.
-- Needs:       nothing.

local per_hour = parameter("per_hour", 10)

function decide(cluster)
  local rank, line = {}, {}
  for i, job in ipairs(cluster.waiting) do
    rank[job.id] = {job.priority + per_hour * job.waited / 3600, i}
    line[i] = job
  end
  table.sort(line, function(a, b)
    local ra, rb = rank[a.id], rank[b.id]
    if ra[1] ~= rb[1] then return ra[1] > rb[1] end
    return ra[2] < rb[2]
  end)

  local plan, free = {}, cluster.free
  for _, job in ipairs(line) do
    free = free - job.want * job.slots_per_worker
    if free < 0 then break end
    local reason = string.format("its rank is %.0f", rank[job.id][1])
    plan[#plan + 1] = {job = job, workers = job.want, reason = reason}
  end
  if #line > 0 then revisit(600) end
  return plan
end
