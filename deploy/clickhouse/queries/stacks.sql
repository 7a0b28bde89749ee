-- The stacks of a signature: the time that its blocks spent in each.
-- Parameters: {signature}; {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {limit}.
SELECT hash, sum(part_ns) AS ns, count() AS blocks
FROM blocks
ARRAY JOIN stacks AS hash, stack_ns AS part_ns
WHERE hang = 0 AND signature = {signature} AND time >= {since} AND time < {until} {filter}
GROUP BY hash
ORDER BY ns DESC, hash
LIMIT {limit}
