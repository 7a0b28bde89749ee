-- Where signatures occur, and what they are: process, loop, hosts, the sentence of a block.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {keys}, a list of signatures.
SELECT signature AS key, process, loop, count() AS blocks, uniq(host) AS hosts, anyLast(function) AS function,
    anyLast(sentence) AS sentence
FROM blocks
WHERE hang = 0 AND signature IN ({keys}) AND time >= {since} AND time < {until} {filter}
GROUP BY key, process, loop
ORDER BY key, blocks DESC
LIMIT 10000
