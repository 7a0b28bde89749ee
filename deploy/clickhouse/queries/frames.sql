-- The frames of stacks, innermost first.
-- Parameters: {keys}, a list of hashes.
SELECT hash, any(frames) AS frames
FROM stacks
WHERE hash IN ({keys})
GROUP BY hash
