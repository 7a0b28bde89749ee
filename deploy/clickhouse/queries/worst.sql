-- The worst block of a signature, whole.
-- Parameters: {signature}; {since} and {until}, seconds since 1970.
SELECT record, host, unit, version, delay_ns
FROM blocks
WHERE signature = {signature} AND record != '' AND time >= {since} AND time < {until}
    AND delay_ns =
    (
        SELECT max(delay_ns) FROM blocks WHERE signature = {signature} AND record != '' AND time >= {since} AND time < {until}
    )
LIMIT 1
