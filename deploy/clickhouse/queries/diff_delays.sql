-- Delays of the blocks of a side, in µs: of each fault a sample of at most 500, by a hash of each block's time and host.
-- Parameters as of diff_side.sql; {every}: one of so many blocks; {keys}: faults of which each block counts.
SELECT toString(key) AS loop_key, toString(fault) AS fault,
    toString(multiIf(length(d1) < 500, d1, length(d4) < 500, d4, length(d16) < 500, d16, length(d64) < 500, d64, d256))
        AS delays
FROM
(
    SELECT any(loop_key) AS key, fault, groupArray(500)(delay) AS d1,
        groupArrayIf(500)(delay, hash % 4 = 0) AS d4,
        groupArrayIf(500)(delay, hash % 16 = 0) AS d16,
        groupArrayIf(500)(delay, hash % 64 = 0) AS d64,
        groupArrayIf(500)(delay, hash % 256 = 0) AS d256
    FROM
    (
        SELECT loop_key, fault, toUInt32(least(intDiv(delay_ns, 1000), 4294967295)) AS delay,
            intDiv(intHash64(start_ns + host_part), {every}) AS hash
        FROM blocks
        WHERE hang = 0 AND (intHash64(start_ns + host_part) % {every} = 0 OR fault IN ({keys}))
            AND time >= {since} AND time < {until} {filter}
    )
    GROUP BY fault
    HAVING count() >= 5
)
LIMIT 100000
