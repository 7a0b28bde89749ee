-- The days and months that a table still has, on all shards.
-- Without the sums by hour, which are kept: they say when a fault was first seen.
-- Parameters: {cluster} and {database}, texts.
SELECT table, partition, sum(rows) AS rows, sum(bytes) AS bytes
FROM cluster({cluster}, system, parts)
WHERE database = {database} AND active AND partition != 'tuple()' AND table NOT LIKE '%hourly%'
GROUP BY table, partition
ORDER BY table, partition
LIMIT 100000
