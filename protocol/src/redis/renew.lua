-- KEYS: lease. ARGV: holder, epoch, ttl_ms. Returns 1 if the lease was renewed, else 0 (ALEASE-105).
local record = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'expires_at')
if record[1] ~= ARGV[1] or record[2] ~= ARGV[2] then return 0 end
local ends_ms = milliseconds(record[3])
if not ends_ms then return invalid() end
if now_ms >= ends_ms then return 0 end
redis.call('HSET', KEYS[1], 'renewed_at', seconds(now_ms), 'expires_at', seconds(now_ms + ARGV[3]))
return 1
