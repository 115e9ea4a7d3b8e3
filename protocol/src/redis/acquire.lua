-- KEYS: lease. ARGV: holder, ttl_ms. Returns the epoch if the lease was acquired, else nothing (ALEASE-104).
local record = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at')
local holder, epoch, ends_ms = record[1] or '', record[2], milliseconds(record[3])
if epoch and not string.match(epoch, '^[1-9]%d*$') then return invalid() end
if holder ~= '' then
  if not epoch or not ends_ms then return invalid() end
  if now_ms < ends_ms then return false end
end
-- HINCRBY is exact up to 2^63 - 1 and fails beyond. Lua's numbers are exact only up to 2^53.
local incremented = redis.pcall('HINCRBY', KEYS[1], 'epoch', 1)
if type(incremented) == 'table' and incremented.err then return increment_error(incremented) end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'acquired_at', seconds(now_ms), 'renewed_at', seconds(now_ms),
  'expires_at', seconds(now_ms + ARGV[2]))
return redis.call('HGET', KEYS[1], 'epoch')
