-- What a side of a comparison has.
-- Parameters: {since} and {until}, seconds since 1970; {version}, {unit} and {process}, texts, empty for all.
SELECT uniq(host) AS hosts, uniq(start_ns, host_part) AS intervals, toUnixTimestamp(max(time)) - toUnixTimestamp(min(time)) AS seconds
FROM loops
WHERE time >= {since} AND time < {until} AND ({version} = '' OR version = {version})
    AND ({unit} = '' OR unit = {unit}) AND ({process} = '' OR process = {process})
