-- How the signatures of a side were made.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'.
SELECT DISTINCT signature_version
FROM
(
    SELECT DISTINCT signature_version
    FROM blocks
    WHERE hang = 0 AND signature != '' AND time >= {since} AND time < {until} {filter}
    UNION ALL
    SELECT DISTINCT signature_version
    FROM left_out
    WHERE signature != '' AND time >= {since} AND time < {until} {filter}
)
