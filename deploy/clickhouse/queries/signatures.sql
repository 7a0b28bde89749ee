-- The signatures that begin so.
-- Parameters: {signature}, its first digits; {since} and {until}, seconds since 1970.
SELECT signature AS key, count() AS blocks
FROM blocks
WHERE signature >= {signature} AND signature < concat({signature}, 'g') AND time >= {since} AND time < {until}
GROUP BY key
ORDER BY blocks DESC, key
LIMIT 10
