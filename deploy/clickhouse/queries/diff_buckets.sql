-- The histograms of the same.
-- Parameters as of diff_loops.sql.
SELECT toString(loop_key) AS loop_key, part, toString(map.1) AS places, toString(map.2) AS sums
FROM
(
    SELECT loop_key, {part} AS part, sumMap(buckets, counts) AS map
    FROM loops
    WHERE time >= {since} AND time < {until} {filter}
    GROUP BY loop_key, part
)
ORDER BY loop_key, part
LIMIT {rows}
