-- The denominators: dispatches by process and loop.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {keys}, a list of
-- hashes of process and loop.
SELECT loop_key, sum(dispatches) AS dispatches
FROM loops
WHERE time >= {since} AND time < {until} AND loop_key IN ({keys}) {filter}
GROUP BY loop_key
