-- The denominators: dispatches by process and loop.
-- Parameters: {since} and {until}, seconds since 1970; {unit} and {process}, texts, empty for all.
SELECT process, loop, sum(dispatches) AS dispatches
FROM loops
WHERE time >= {since} AND time < {until}
    AND ({unit} = '' OR unit = {unit}) AND ({process} = '' OR process = {process})
GROUP BY process, loop
LIMIT 10000
