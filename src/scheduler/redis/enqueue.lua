-- KEYS: occurrence, due. ARGV: key, lease, action, due_at. Gives 1 unless the key was there (ALEASE-107).
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
-- First what can fail, for a set that is none: a script that fails keeps what it did before.
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('HSET', KEYS[1], 'lease', ARGV[2], 'action', ARGV[3], 'due_at', ARGV[4])
return 1
