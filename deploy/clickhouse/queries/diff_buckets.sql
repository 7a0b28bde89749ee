-- The histograms of the same.
-- Parameters as of diff_loops.sql.
SELECT toString(loop_key) AS loop_key, part, groupArray(bucket) AS places, groupArray(total) AS sums
FROM
(
    SELECT loop_key, {part} AS part, bucket, sum(cnt) AS total
    FROM loops
    ARRAY JOIN buckets AS bucket, counts AS cnt
    WHERE time >= {since} AND time < {until} {filter}
    GROUP BY loop_key, part, bucket
    ORDER BY loop_key, part, bucket
)
GROUP BY loop_key, part
ORDER BY loop_key, part
LIMIT 160000
