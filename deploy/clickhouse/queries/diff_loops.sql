-- The dispatches of a side, by loop and group of hosts, or of hosts and times for a loop on few hosts. How counts vary
-- between groups says how certain a difference is.
-- Parameters as of diff_side.sql; {part}, the group of a row; {rows}.
SELECT toString(key) AS loop_key, process_name, loop_name, part, dispatches
FROM
(
    SELECT loop_key AS key, any(process) AS process_name, any(loop) AS loop_name, {part} AS part,
        sum(dispatches) AS dispatches
    FROM loops
    WHERE time >= {since} AND time < {until} {filter}
    GROUP BY key, part
)
ORDER BY key, part
LIMIT {rows}
