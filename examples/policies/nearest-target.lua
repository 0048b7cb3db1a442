-- Whoever is nearest its target gets the spare slots.
--
-- Objective:   finished models soon: the last mile first.
-- Rule:        waiting jobs start at `min` in arrival order, as far as they fit. What is then free
--              lets one running job grow: the one whose metric is nearest its target, as a part of
--              the target's value.
-- Needs:       targets, and the metrics that they name; elastic jobs.

local function distance(job)
  local target = job.target
  local value = target and job.metrics[target.metric]
  if not value or target.reached then return nil end
  return math.abs(target.final - value) / math.max(math.abs(target.final), 1e-9)
end

function decide(cluster)
  local plan, free = {}, cluster.free
  for _, job in ipairs(cluster.waiting) do
    local need = job.min * job.slots_per_worker
    if need <= free then
      free = free - need
      plan[#plan + 1] = {job = job, workers = job.min, reason = "starts small"}
    end
  end

  local best, nearest
  for _, job in ipairs(cluster.running) do
    local d = job.resizable and job.workers + job.step <= job.max and distance(job)
    if d and (not nearest or d < nearest) then best, nearest = job, d end
  end
  if best then
    local steps = math.min(free // (best.step * best.slots_per_worker),
                           (best.max - best.workers) // best.step)
    local reason = string.format("it is %.1f %% from its target", 100 * nearest)
    if steps > 0 then
      plan[#plan + 1] = {job = best, workers = best.workers + steps * best.step, reason = reason}
    end
  end
  return plan
end
