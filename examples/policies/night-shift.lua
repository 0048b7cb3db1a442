-- Large jobs run at night.
--
-- Objective:   by day there is room for those who try things out.
-- Rule:        jobs of more than `large` slots start between `from` and `to` o'clock (UTC), and then
--              before the others; small ones start at any time, in arrival order. Nobody who runs
--              is stopped in the morning.
-- Needs:       nothing.

local large = parameter("large", 4)
local from = parameter("from", 20)
local to = parameter("to", 6)

local function until_hour(now, hour)
  return (hour * 3600 - now % 86400) % 86400
end

function decide(cluster)
  local day_left = until_hour(cluster.now, from)
  local night = until_hour(cluster.now, to) <= (to - from) % 24 * 3600
  local plan, free, late = {}, cluster.free, {}

  local function start(job, reason)
    local need = job.want * job.slots_per_worker
    if need > free then return end
    free = free - need
    plan[#plan + 1] = {job = job, workers = job.want, reason = reason}
  end

  for _, job in ipairs(cluster.waiting) do
    local is_large = job.want * job.slots_per_worker > large
    if is_large and night then
      start(job, "the night is for large jobs")
    elseif is_large then
      plan[#plan + 1] = {job = job, workers = 0, reason = "waits for " .. from .. " o'clock"}
      revisit(math.max(day_left, 1))
    else
      late[#late + 1] = job
    end
  end
  for _, job in ipairs(late) do start(job, "small jobs start at any time") end
  return plan
end
