-- Prepended to each script that needs the time. A script runs atomically, so the clock is read while all records are
-- locked.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

-- The format of every time in the store: Unix seconds with exactly three decimals.
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

-- The error of a failed HINCRBY. `ERR` means that the field is no number or would overflow. Other errors, such as
-- `READONLY` of a replica, are returned as they are.
local function increment_error(reply)
  if string.match(reply.err, '^ERR ') then return invalid() end
  return reply
end
