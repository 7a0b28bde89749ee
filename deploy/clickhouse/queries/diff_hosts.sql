-- The loops of a side that are on few hosts.
-- Parameters as of diff_side.sql; {hosts}: with so many hosts a loop is none of them; {rows}.
SELECT toString(loop_key) AS loop_key
FROM loops
WHERE time >= {since} AND time < {until} {filter}
GROUP BY loop_key
HAVING uniq(host_part) < {hosts}
ORDER BY loop_key
LIMIT {rows}
