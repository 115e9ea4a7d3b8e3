-- KEYS: due. ARGV: the prefix of occurrences' keys. Returns key, action and due time of the oldest due
-- occurrence, or nothing.
-- Members with equal scores are ordered by their bytes.
local key = redis.call('ZRANGE', KEYS[1], '-inf', seconds(now_ms), 'BYSCORE', 'LIMIT', 0, 1)[1]
if not key then return false end
local record = redis.call('HMGET', ARGV[1] .. key, 'action', 'due_at')
if not record[1] or not record[2] then return invalid() end
return {key, record[1], record[2]}
