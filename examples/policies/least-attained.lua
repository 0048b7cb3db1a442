-- Whoever has had the least so far comes first; who had much gives way.
--
-- Objective:   short jobs finish soon, although nobody says which are short.
-- Rule:        all jobs by the slot-seconds they have had, in classes: below `first` seconds, below
--              ten times that, and so on. In a class, arrival order. The first ones get `want`
--              workers as far as the slots reach; the others wait, running or not.
-- Needs:       scripts that resume from a checkpoint: jobs are stopped for others.
-- Source:      the idea of Tiresias (NSDI 2019), in twenty lines.

local first = parameter("first", 3600)
local quantum = parameter("quantum", 60)

local function class(job)
  local class, limit = 0, first
  while job.attained >= limit do class, limit = class + 1, limit * 10 end
  return class
end

function decide(cluster)
  local classes = {}
  for _, job in ipairs(cluster.jobs) do
    local c = class(job)
    classes[c] = classes[c] or {}
    table.insert(classes[c], job)
  end
  local plan, free = {}, cluster.slots
  for c, jobs in pairs(classes) do
    for _, job in ipairs(jobs) do
      local need = job.want * job.slots_per_worker
      local workers = need <= free and job.want or 0
      free = free - workers * job.slots_per_worker
      plan[#plan + 1] = {job = job, workers = workers, reason = "it is in class " .. c}
    end
  end
  if #cluster.waiting > 0 then revisit(quantum) end
  return plan
end
