-- KEYS: lease, due. ARGV: the prefix of occurrences' keys. Returns the time; holder, epoch, acquired, renewed, expires;
-- epoch, time and cursor of the progress; the number of due occurrences and the due time of the oldest.
local record = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'acquired_at', 'renewed_at', 'expires_at',
  'progress_epoch', 'progress_at', 'progress_cursor')
local oldest = redis.call('ZRANGE', KEYS[2], '-inf', seconds(now_ms), 'BYSCORE', 'LIMIT', 0, 1)[1]
local oldest_due_at = oldest and redis.call('HGET', ARGV[1] .. oldest, 'due_at')
if oldest and not oldest_due_at then return invalid() end
local snapshot = {seconds(now_ms)}
for field = 1, 8 do snapshot[field + 1] = record[field] end
snapshot[10] = redis.call('ZCOUNT', KEYS[2], '-inf', seconds(now_ms))
snapshot[11] = oldest_due_at or false
return snapshot
