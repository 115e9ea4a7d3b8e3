-- KEYS: due. ARGV: what precedes an occurrence's key. Gives key, action and due time of the oldest due, or nothing.
-- Of equal scores a sorted set is in the order of its members' bytes.
local key = redis.call('ZRANGE', KEYS[1], '-inf', seconds(now_ms), 'BYSCORE', 'LIMIT', 0, 1)[1]
if not key then return false end
local record = redis.call('HMGET', ARGV[1] .. key, 'action', 'due_at')
if not record[1] or not record[2] then return invalid() end
return {key, record[1], record[2]}
