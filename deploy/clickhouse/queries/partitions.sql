-- The days and months that a table still has, on all shards.
-- Parameters: {cluster} and {database}, texts.
SELECT table, partition, sum(rows) AS rows, sum(bytes) AS bytes
FROM cluster({cluster}, system, parts)
WHERE database = {database} AND active AND partition != 'tuple()'
GROUP BY table, partition
ORDER BY table, partition
LIMIT 100000
