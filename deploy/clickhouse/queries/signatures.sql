-- The signatures that begin so, also of blocks that limits only counted.
-- Parameters: {signature}, its first digits; {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'.
SELECT key, sum(cnt) AS blocks
FROM
(
    SELECT signature AS key, count() AS cnt
    FROM blocks
    WHERE hang = 0 AND signature >= {signature} AND signature < concat({signature}, 'g') AND time >= {since} AND time < {until} {filter}
    GROUP BY key
    UNION ALL
    SELECT signature AS key, sum(blocks) AS cnt
    FROM left_out
    WHERE signature >= {signature} AND signature < concat({signature}, 'g') AND time >= {since} AND time < {until} {filter}
    GROUP BY key
)
GROUP BY key
ORDER BY blocks DESC, key
LIMIT 10
