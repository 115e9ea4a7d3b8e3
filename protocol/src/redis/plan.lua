-- KEYS: lease, due, occurrence. ARGV: lease, holder, epoch, key. Returns a word (ALEASE-106, 107).
local held = redis.call('HMGET', KEYS[1], 'holder', 'epoch')
if held[1] ~= ARGV[2] or held[2] ~= ARGV[3] then return 'fenced' end
local record = redis.call('HMGET', KEYS[3], 'lease', 'planned_at')
if record[1] ~= ARGV[1] then return 'unknown' end
if record[2] then return 'already_planned' end
-- Fails if the key is no sorted set, before anything is changed.
redis.call('ZSCORE', KEYS[2], ARGV[4])
local incremented = redis.pcall('HINCRBY', KEYS[1], 'progress_cursor', 1)
if type(incremented) == 'table' and incremented.err then return increment_error(incremented) end
redis.call('HSET', KEYS[1], 'progress_at', seconds(now_ms), 'progress_epoch', ARGV[3])
redis.call('HSET', KEYS[3], 'planned_at', seconds(now_ms), 'planned_epoch', ARGV[3], 'planned_by', ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[4])
return 'planned'
