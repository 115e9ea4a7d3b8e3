-- KEYS: lease, due. ARGV: what precedes an occurrence's key. Gives the time; holder, epoch, acquired, renewed, expires;
-- progress's epoch, time, cursor; how many are due, and the due time of the oldest.
local record = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'acquired_at', 'renewed_at', 'expires_at',
  'progress_epoch', 'progress_at', 'progress_cursor')
local oldest = redis.call('ZRANGE', KEYS[2], '-inf', seconds(now_ms), 'BYSCORE', 'LIMIT', 0, 1)[1]
local since = oldest and redis.call('HGET', ARGV[1] .. oldest, 'due_at')
if oldest and not since then return invalid() end
local reading = {seconds(now_ms)}
for field = 1, 8 do reading[field + 1] = record[field] end
reading[10] = redis.call('ZCOUNT', KEYS[2], '-inf', seconds(now_ms))
reading[11] = since or false
return reading
