-- Signatures and sentences of faults.
-- Parameters: {since} and {until}, seconds since 1970; {keys}, a list of faults.
SELECT toString(fault) AS fault, max(signature) AS signature, max(sentence) AS sentence
FROM
(
    SELECT fault, any(signature) AS signature, anyLast(sentence) AS sentence
    FROM blocks
    PREWHERE fault IN ({keys})
    WHERE hang = 0 AND time >= {since} AND time < {until}
    GROUP BY fault
    UNION ALL
    SELECT fault, any(signature) AS signature, '' AS sentence
    FROM left_out
    WHERE time >= {since} AND time < {until} AND fault IN ({keys})
    GROUP BY fault
)
GROUP BY fault
LIMIT 100000
