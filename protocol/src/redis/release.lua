-- KEYS: lease. ARGV: holder, epoch. Returns 1 if the lease was released, else 0. The epoch stays (ALEASE-101).
local record = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at')
if record[1] ~= ARGV[1] or record[2] ~= ARGV[2] then return 0 end
local ends_ms = milliseconds(record[3])
if not ends_ms then return invalid() end
redis.call('HDEL', KEYS[1], 'holder')
redis.call('HSET', KEYS[1], 'expires_at', seconds(math.min(ends_ms, now_ms)))
return 1
