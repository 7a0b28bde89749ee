-- Where and when a signature occurs, also blocks that limits only counted: versions, units and hosts, with first and last time.
-- Parameters: {signature}; {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {limit}.
SELECT version, unit, process, loop, sum(total) AS blocks, count() AS hosts, groupArray(3)(host) AS worst_hosts,
    max(longest) AS max_ns, toUnixTimestamp(min(time_min)) AS first, toUnixTimestamp(max(time_max)) AS last
FROM
(
    SELECT version, unit, process, loop, host, sum(cnt) AS total, max(delay) AS longest, min(t_min) AS time_min, max(t_max) AS time_max
    FROM
    (
        SELECT version, unit, process, loop, host, count() AS cnt, max(delay_ns) AS delay, min(time) AS t_min, max(time) AS t_max
        FROM blocks
        WHERE hang = 0 AND signature = {signature} AND time >= {since} AND time < {until} {filter}
        GROUP BY version, unit, process, loop, host
        UNION ALL
        SELECT version, unit, process, loop, host, sum(blocks) AS cnt, max(max_ns) AS delay, min(time) AS t_min, max(time) AS t_max
        FROM left_out
        WHERE signature = {signature} AND time >= {since} AND time < {until} {filter}
        GROUP BY version, unit, process, loop, host
    )
    GROUP BY version, unit, process, loop, host
    ORDER BY total DESC, host
)
GROUP BY version, unit, process, loop
ORDER BY blocks DESC, version, unit, process, loop
LIMIT {limit}
