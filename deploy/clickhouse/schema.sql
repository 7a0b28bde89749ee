-- Tables of a fleet's records (docs/clickhouse.md). Run it on each server:
--
--     clickhouse-client --multiquery < schema.sql
--
-- A server needs the macros {shard} and {replica}, ZooKeeper or Keeper, and the cluster `jankbpf` in remote_servers
-- with internal_replication. It runs on Debian's 18.16 and on current versions. Of these, 18.16 has no TTL (jankbpf
-- fleet drop deletes old days), no CODEC and no LowCardinality without a setting; where they exist, add them:
--
--     ALTER TABLE blocks_local MODIFY COLUMN record String CODEC(ZSTD(3)), MODIFY COLUMN start_ns UInt64 CODEC(Delta, ZSTD)
--     ALTER TABLE loops_local MODIFY COLUMN counts Array(UInt64) CODEC(ZSTD(3)), MODIFY COLUMN unit LowCardinality(String)
--     ALTER TABLE blocks_local MODIFY TTL time + INTERVAL 90 DAY
--
-- Tables that were made before this column need it for `jankbpf fleet diff`; likewise left_out_local, blocks, left_out:
--
--     ALTER TABLE blocks_local ADD COLUMN signature_version UInt8 DEFAULT 1
--
-- *_local: the rows of a shard; agents insert here, always into the same shard. Without that suffix: all shards.
--
-- A request that is sent again is recognized by its bytes as long as the last replicated_deduplication_window requests
-- and a week go back. A later one is recognized by the merge: rows of one (agent, batch, nr, item) replace each other,
-- wherever their partition is merged. Queries that must count none twice before that take FINAL.

CREATE DATABASE IF NOT EXISTS jankbpf;

-- One row for each block, and for each time that a hang was reported (its end is a block, too: count rows of hang = 0).
CREATE TABLE IF NOT EXISTS jankbpf.blocks_local
(
    time DateTime,              -- begin of the dispatch
    start_ns UInt64,            -- the same in ns since 1970
    agent String,               -- who wrote the record, with
    batch UInt64,               -- its batch and
    nr UInt32,                  -- the place in it: a key of the row
    hang UInt8,                 -- 1: a hang under way
    host String,
    boot_id String,
    kernel String,
    unit String,
    container String,
    pod String,
    process String,
    service String,
    environment String,
    version String,             -- of the application; its build id if it says none
    loop String,
    message String,
    kind String,                -- cause.kind and cause.what
    what String,
    signature String,
    signature_version UInt8 DEFAULT 1,  -- how it was made; those of different versions cannot be compared
    function String,            -- that is most to blame
    culprit String,             -- process that kept the thread waiting: of the chain's end, or of the longest preemptor
    delay_ns UInt64,            -- start_delay_ns + duration_ns
    client_ns UInt64,           -- delay_ns, and half of duration_ns for each descriptor that was ready at the end
    start_delay_ns UInt64,
    duration_ns UInt64,
    running_ns UInt64,          -- these states sum to duration_ns
    runnable_ns UInt64,
    futex_ns UInt64,
    disk_ns UInt64,
    sleep_ns UInt64,
    poll_ns UInt64,
    socket_ns UInt64,
    pipe_ns UInt64,
    binder_ns UInt64,
    page_fault_ns UInt64,
    stopped_ns UInt64,
    other_ns UInt64,
    losses UInt64,              -- what this record misses, in all
    reduced String,             -- what the agent's budget took away
    stacks Array(UInt64),       -- hashes of its stacks, the longest first,
    stack_ns Array(UInt64),     -- and the time in each
    sentence String,
    record String,              -- the whole record as JSON; empty if it was too large
    -- for quick groups; not in SELECT *
    loop_key UInt64 MATERIALIZED cityHash64(process, loop),
    version_key UInt64 MATERIALIZED cityHash64(version),
    fault UInt64 MATERIALIZED cityHash64(process, loop, signature),
    host_part UInt8 MATERIALIZED toUInt8(cityHash64(host) % 240)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jankbpf/blocks', '{replica}')
PARTITION BY toYYYYMMDD(time)
PRIMARY KEY (signature, time)
ORDER BY (signature, time, agent, batch, nr)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Stacks by hash. Each agent sends those of its blocks; equal rows of a month merge into one.
CREATE TABLE IF NOT EXISTS jankbpf.stacks_local
(
    time DateTime,              -- of a block with it
    hash UInt64,
    frames Array(String)        -- innermost first
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jankbpf/stacks', '{replica}')
PARTITION BY toYYYYMM(time)
ORDER BY hash
SETTINGS replicated_deduplication_window = 0;

-- One row for each interval of an agent: what concerns the host.
CREATE TABLE IF NOT EXISTS jankbpf.intervals_local
(
    time DateTime,
    start_ns UInt64,
    agent String,
    batch UInt64,
    nr UInt32,
    host String,
    boot_id String,
    kernel String,
    arch String,
    cpus UInt32,
    elapsed_ns UInt64,
    paused_ns UInt64,
    blind_ns UInt64,
    threshold_ns UInt64,
    dispatches UInt64,
    blocks UInt64,
    hangs UInt64,
    open UInt32,                -- dispatches that had not ended
    open_ns UInt64,             -- the longest of them
    not_watched UInt64,
    over_signature UInt64,      -- blocks that the limits left out
    over_second UInt64,
    lost_reason Array(String),
    lost_count Array(UInt64),
    reduced String,
    governor_level UInt32,
    bpf_ns UInt64,
    cpu_ns UInt64,
    rss_kb UInt64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jankbpf/intervals', '{replica}')
PARTITION BY toYYYYMMDD(time)
ORDER BY (host, time, agent, batch, nr)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- One row for each loop of an interval: the denominators.
CREATE TABLE IF NOT EXISTS jankbpf.loops_local
(
    time DateTime,
    start_ns UInt64,
    elapsed_ns UInt64,
    agent String,
    batch UInt64,
    nr UInt32,
    item UInt32,
    host String,
    unit String,
    container String,
    pod String,
    process String,
    service String,
    environment String,
    version String,
    loop String,
    threshold_ns UInt64,
    dispatches UInt64,
    blocks UInt64,
    max_ns UInt64,              -- the longest dispatch; 0: not known
    buckets Array(UInt16),      -- histogram of durations: bucket i ends at exp2(7 + i / 21) ns, within 1 %,
    counts Array(UInt64),       -- and has so many dispatches
    delayed UInt64,             -- dispatches whose wait slept, with the histogram of their start delays
    delay_buckets Array(UInt16),
    delay_counts Array(UInt64),
    loop_key UInt64 MATERIALIZED cityHash64(process, loop),
    version_key UInt64 MATERIALIZED cityHash64(version),
    host_part UInt8 MATERIALIZED toUInt8(cityHash64(host) % 240)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jankbpf/loops', '{replica}')
PARTITION BY toYYYYMMDD(time)
PRIMARY KEY (process, loop, time)
ORDER BY (process, loop, time, agent, batch, nr, item)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- Blocks that the limits of an agent counted, but did not record: by fault, process and interval.
CREATE TABLE IF NOT EXISTS jankbpf.left_out_local
(
    time DateTime,
    start_ns UInt64,
    agent String,
    batch UInt64,
    nr UInt32,
    item UInt32,
    host String,
    unit String,
    process String,
    version String,             -- of the interval's loops of this process; empty if they have several
    loop String,
    kind String,
    signature String,
    signature_version UInt8 DEFAULT 1,
    function String,
    blocks UInt64,
    total_ns UInt64,
    max_ns UInt64,
    loop_key UInt64 MATERIALIZED cityHash64(process, loop),
    version_key UInt64 MATERIALIZED cityHash64(version),
    fault UInt64 MATERIALIZED cityHash64(process, loop, signature),
    host_part UInt8 MATERIALIZED toUInt8(cityHash64(host) % 240)
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jankbpf/left_out', '{replica}')
PARTITION BY toYYYYMMDD(time)
PRIMARY KEY (signature, time)
ORDER BY (signature, time, agent, batch, nr, item)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

-- --- views: what stays when old days are dropped
--
-- A view gets a request after its table did. If a server ends between both, the agent sends the request again, the table
-- has it already, and the view never gets it: views may lack some blocks, and never count one twice. So they serve first
-- and last times and long trends; everything else reads the tables above. Two requests may well add equal rows: no
-- deduplication here.

CREATE TABLE IF NOT EXISTS jankbpf.faults_hourly_local
(
    hour DateTime,
    signature String,
    version String,
    unit String,
    process String,
    loop String,
    kind String,
    blocks AggregateFunction(sum, UInt64),
    delay AggregateFunction(sum, UInt64),
    max_delay AggregateFunction(max, UInt64),
    hosts AggregateFunction(uniq, String),
    first AggregateFunction(min, DateTime),
    last AggregateFunction(max, DateTime)
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/jankbpf/faults_hourly', '{replica}')
PARTITION BY toYYYYMM(hour)
ORDER BY (signature, hour, version, unit, process, loop, kind)
SETTINGS replicated_deduplication_window = 0;

CREATE MATERIALIZED VIEW IF NOT EXISTS jankbpf.faults_of_blocks TO jankbpf.faults_hourly_local AS
SELECT toStartOfHour(time) AS hour, signature, version, unit, process, loop, kind,
    sumState(toUInt64(1)) AS blocks, sumState(delay_ns) AS delay, maxState(delay_ns) AS max_delay,
    uniqState(host) AS hosts, minState(time) AS first, maxState(time) AS last
FROM jankbpf.blocks_local
WHERE hang = 0
GROUP BY hour, signature, version, unit, process, loop, kind;

CREATE MATERIALIZED VIEW IF NOT EXISTS jankbpf.faults_of_left_out TO jankbpf.faults_hourly_local AS
SELECT toStartOfHour(time) AS hour, signature, version, unit, process, loop, kind,
    sumState(blocks) AS blocks, sumState(total_ns) AS delay, maxState(max_ns) AS max_delay,
    uniqState(host) AS hosts, minState(time) AS first, maxState(time) AS last
FROM jankbpf.left_out_local
GROUP BY hour, signature, version, unit, process, loop, kind;

CREATE TABLE IF NOT EXISTS jankbpf.loops_hourly_local
(
    hour DateTime,
    version String,
    unit String,
    process String,
    loop String,
    dispatches UInt64,
    blocks UInt64
)
ENGINE = ReplicatedSummingMergeTree('/clickhouse/tables/{shard}/jankbpf/loops_hourly', '{replica}')
PARTITION BY toYYYYMM(hour)
ORDER BY (process, loop, hour, version, unit)
SETTINGS replicated_deduplication_window = 0;

CREATE MATERIALIZED VIEW IF NOT EXISTS jankbpf.loops_of_intervals TO jankbpf.loops_hourly_local AS
SELECT toStartOfHour(time) AS hour, version, unit, process, loop, sum(dispatches) AS dispatches, sum(blocks) AS blocks
FROM jankbpf.loops_local
GROUP BY hour, version, unit, process, loop;

-- --- all shards

CREATE TABLE IF NOT EXISTS jankbpf.blocks AS jankbpf.blocks_local ENGINE = Distributed(jankbpf, jankbpf, blocks_local);
CREATE TABLE IF NOT EXISTS jankbpf.stacks AS jankbpf.stacks_local ENGINE = Distributed(jankbpf, jankbpf, stacks_local);
CREATE TABLE IF NOT EXISTS jankbpf.intervals AS jankbpf.intervals_local ENGINE = Distributed(jankbpf, jankbpf, intervals_local);
CREATE TABLE IF NOT EXISTS jankbpf.loops AS jankbpf.loops_local ENGINE = Distributed(jankbpf, jankbpf, loops_local);
CREATE TABLE IF NOT EXISTS jankbpf.left_out AS jankbpf.left_out_local ENGINE = Distributed(jankbpf, jankbpf, left_out_local);
CREATE TABLE IF NOT EXISTS jankbpf.faults_hourly AS jankbpf.faults_hourly_local
    ENGINE = Distributed(jankbpf, jankbpf, faults_hourly_local);
CREATE TABLE IF NOT EXISTS jankbpf.loops_hourly AS jankbpf.loops_hourly_local
    ENGINE = Distributed(jankbpf, jankbpf, loops_hourly_local)
