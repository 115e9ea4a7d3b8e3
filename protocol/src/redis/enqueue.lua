-- KEYS: occurrence, due. ARGV: key, lease, action, due_at. Returns 1 unless the key exists (ALEASE-107).
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
-- ZADD comes first because it can fail, if the key is no sorted set. A failed script keeps its earlier writes.
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('HSET', KEYS[1], 'lease', ARGV[2], 'action', ARGV[3], 'due_at', ARGV[4])
return 1
