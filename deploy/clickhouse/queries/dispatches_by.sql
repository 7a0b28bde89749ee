-- The denominators of units, versions or hosts.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'; {by}, unit, version or host;
-- {keys}, a list of texts.
SELECT {by} AS key, sum(dispatches) AS dispatches, uniq(host) AS hosts
FROM loops
WHERE time >= {since} AND time < {until} AND {by} IN ({keys}) {filter}
GROUP BY key
