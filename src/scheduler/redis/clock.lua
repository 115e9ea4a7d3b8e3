-- Before each script that needs the time. A script runs alone from its first line to its last, so a clock that is asked
-- in it is asked while every record is locked.
local asked = redis.call('TIME')
local now_ms = asked[1] * 1000 + math.floor(asked[2] / 1000)

-- The form of every time in the store: Unix seconds with exactly three decimals.
local function seconds(ms)
  return string.format('%d.%03d', math.floor(ms / 1000), ms % 1000)
end

local function milliseconds(text)
  local whole, part = string.match(text or '', '^(%d+)%.(%d%d%d)$')
  return whole and whole * 1000 + part
end

local function invalid()
  return redis.error_reply('INVALIDRECORD outside the contract')
end

-- Why a counter did not count: it is no number, or the last. What has a name of its own, as on a replica, keeps it.
local function uncounted(reply)
  if string.match(reply.err, '^ERR ') then return invalid() end
  return reply
end
