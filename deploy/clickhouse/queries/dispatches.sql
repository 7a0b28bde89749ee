-- The denominators: dispatches by process and loop.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'.
SELECT process, loop, sum(dispatches) AS dispatches
FROM loops
WHERE time >= {since} AND time < {until} {filter}
GROUP BY process, loop
LIMIT 10000
