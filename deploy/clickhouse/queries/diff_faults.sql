-- The blocks of a side, by fault and group, also those that limits only counted; and how many have a record.
-- Parameters as of diff_loops.sql.
SELECT toString(any(key)) AS loop_key, toString(fault) AS fault, toString(groupArray(part)) AS parts,
    toString(groupArray(total)) AS totals, sum(known) AS recorded
FROM
(
    SELECT any(key) AS key, fault, part, sum(blocks) AS total, sum(with_record) AS known
    FROM
    (
        SELECT any(loop_key) AS key, fault, {part} AS part, count() AS blocks, count() AS with_record
        FROM blocks
        WHERE hang = 0 AND time >= {since} AND time < {until} {filter}
        GROUP BY fault, part
        UNION ALL
        SELECT any(loop_key) AS key, fault, {part} AS part, sum(blocks) AS blocks, toUInt64(0) AS with_record
        FROM left_out
        WHERE time >= {since} AND time < {until} {filter}
        GROUP BY fault, part
    )
    GROUP BY fault, part
    ORDER BY fault, part
)
GROUP BY fault
ORDER BY fault
LIMIT {rows}
