-- The worst block of a signature, whole.
-- Parameters: {signature}; {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'.
SELECT record, host, unit, version, delay_ns
FROM blocks
WHERE hang = 0 AND signature = {signature} AND record != '' AND time >= {since} AND time < {until} {filter}
    AND delay_ns =
    (
        SELECT max(delay_ns) FROM blocks
        WHERE hang = 0 AND signature = {signature} AND record != '' AND time >= {since} AND time < {until} {filter}
    )
LIMIT 1
