-- When signatures were seen first and last, also in days that were dropped. Of a view: see schema.sql.
-- Parameters: {keys}, a list of signatures.
SELECT signature AS key, toUnixTimestamp(minMerge(first)) AS first, toUnixTimestamp(maxMerge(last)) AS last
FROM faults_hourly
WHERE signature IN ({keys})
GROUP BY key
