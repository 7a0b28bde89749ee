-- What a side of a comparison has.
-- Parameters: {since} and {until}, seconds since 1970; {filter}, nothing or conditions such as AND unit = 'x'.
SELECT uniq(host_part) AS host_parts, uniq(start_ns + host_part) AS intervals,
    toUnixTimestamp(max(time)) - toUnixTimestamp(min(time)) AS seconds, toUInt64(ceil(avg(elapsed_ns) / 1e9)) AS interval_s
FROM loops
WHERE time >= {since} AND time < {until} {filter}
