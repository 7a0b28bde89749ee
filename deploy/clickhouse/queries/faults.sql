-- Where signatures occur, and what they are: process, loop, hosts, the sentence of a block; also of blocks that limits only counted.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {keys}, a list of
-- signatures; {rows}.
SELECT key, process, loop, any(of_loop) AS loop_key, sum(cnt) AS blocks, uniqMerge(host_set) AS hosts, max(of_function) AS function,
    max(of_block) AS sentence
FROM
(
    SELECT signature AS key, process, loop, any(loop_key) AS of_loop, count() AS cnt, uniqState(host) AS host_set,
        anyLast(function) AS of_function, anyLast(sentence) AS of_block
    FROM blocks
    WHERE hang = 0 AND signature IN ({keys}) AND time >= {since} AND time < {until} {filter}
    GROUP BY key, process, loop
    UNION ALL
    SELECT signature AS key, process, loop, any(loop_key) AS of_loop, sum(blocks) AS cnt, uniqState(host) AS host_set,
        anyLast(function) AS of_function, '' AS of_block
    FROM left_out
    WHERE signature IN ({keys}) AND time >= {since} AND time < {until} {filter}
    GROUP BY key, process, loop
)
GROUP BY key, process, loop
ORDER BY key, blocks DESC
LIMIT {rows}
