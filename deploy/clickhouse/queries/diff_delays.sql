-- Delays of the blocks of a side: of each fault a sample of at most 200, by a hash of the time of each.
-- Parameters as of diff_side.sql; {every}: one of so many blocks; {keys}: faults of which each block counts.
SELECT toString(key) AS loop_key, toString(fault) AS fault,
    multiIf(length(all) < 200, all, length(some) < 200, some, few) AS delays
FROM
(
    SELECT any(loop_key) AS key, fault, groupArray(200)(delay_ns) AS all,
        groupArrayIf(200)(delay_ns, intDiv(intHash64(start_ns), {every}) % 16 = 0) AS some,
        groupArrayIf(200)(delay_ns, intDiv(intHash64(start_ns), {every}) % 256 = 0) AS few
    FROM blocks
    WHERE hang = 0 AND (intHash64(start_ns) % {every} = 0 OR fault IN ({keys}))
        AND time >= {since} AND time < {until} AND ({version} = '' OR version = {version})
        AND ({unit} = '' OR unit = {unit}) AND ({process} = '' OR process = {process})
    GROUP BY fault
    HAVING count() >= 5
)
LIMIT 100000
