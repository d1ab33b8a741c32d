-- The kind follows kstatus: status.observedGeneration, and the conditions Ready, Reconciling and Stalled, of which the last two
-- are there only while they are true. Argo CD runs this without any library, so there is nothing in it but tables.
local health = { status = "Progressing", message = "Waiting for the operator" }
local status = obj.status or {}
if status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end
local is = {}
for i = 1, #status.conditions do
  local condition = status.conditions[i]
  if condition.type == "Ready" or condition.status == "True" then
    is[condition.type] = condition
  end
end
if is.Ready == nil then
  return health
end
health.message = is.Ready.message

if is.Stalled ~= nil then
  health.status = "Degraded"
  health.message = is.Stalled.message
elseif is.Reconciling ~= nil then
  health.message = is.Reconciling.message
elseif is.Ready.status == "True" then
  health.status = "Healthy"
end
return health
