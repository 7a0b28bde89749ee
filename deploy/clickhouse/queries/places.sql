-- Where and when a signature occurs: versions, units and hosts, with first and last time.
-- Parameters: {signature}; {since} and {until}, seconds since 1970; {limit}.
SELECT version, unit, process, loop, count() AS blocks, uniq(host) AS hosts, topK(3)(host) AS worst_hosts,
    max(delay_ns) AS max_ns, toUnixTimestamp(min(time)) AS first, toUnixTimestamp(max(time)) AS last
FROM blocks
WHERE hang = 0 AND signature = {signature} AND time >= {since} AND time < {until}
GROUP BY version, unit, process, loop
ORDER BY blocks DESC, version, unit, process, loop
LIMIT {limit}
