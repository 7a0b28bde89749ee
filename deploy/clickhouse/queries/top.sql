-- Who cost clients most: client-seconds by {by}, which is signature, unit, version or host; also of blocks that limits
-- only counted.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {limit}.
SELECT key, sum(blocks) AS blocks, sum(client) AS client_ns, max(worst) AS max_ns
FROM
(
    SELECT {by} AS key, count() AS blocks, sum(client_ns) AS client, max(delay_ns) AS worst
    FROM blocks
    WHERE hang = 0 AND time >= {since} AND time < {until} {filter}
    GROUP BY key
    UNION ALL
    SELECT {by} AS key, sum(blocks) AS blocks, sum(total_ns) AS client, max(max_ns) AS worst
    FROM left_out
    WHERE time >= {since} AND time < {until} {filter}
    GROUP BY key
)
GROUP BY key
ORDER BY client_ns DESC, key
LIMIT {limit}
