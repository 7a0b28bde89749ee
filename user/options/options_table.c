/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of the options: the only place for their names, ranges, defaults and texts. */
#include "options/options_table.h"

#include "base/clock.h"
#include "bpf/jank_abi.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define HOUR_NS (3600 * NS_PER_SEC)
#define YEAR_NS (365 * 24 * HOUR_NS)

#define TRACE	  (1u << CMD_TRACE)
#define TOP	  (1u << CMD_TOP)
#define AGENT	  (1u << CMD_AGENT)
#define SHOWS	  (TRACE | TOP) /* on a terminal */
#define TRACES	  (TRACE | TOP | AGENT)
#define RUNS	  (TRACE | AGENT)
#define REPLAY	  (1u << CMD_REPLAY)
#define LOOPS	  (1u << CMD_LOOPS)
#define DOCTOR	  (1u << CMD_DOCTOR)
#define SYMBOLIZE (1u << CMD_SYMBOLIZE)
#define REPORT	  (1u << CMD_REPORT)
#define DIFF	  (1u << CMD_DIFF)
#define SERVE	  (1u << CMD_SERVE)
#define SEND	  (1u << CMD_SEND)
#define SENDS	  (TRACE | AGENT | SEND)
#define FLEET	  (1u << CMD_FLEET)
#define RECORDS	  (TRACE | REPLAY | SYMBOLIZE)
#define ALWAYS	  (~0u)
#define PID_MAX	  (1 << 22) /* the kernel's own limit */

#ifdef HAVE_MICROHTTPD
#define LISTEN_DEFAULT "127.0.0.1:9435"
#else
#define LISTEN_DEFAULT "off"
#endif

#define AT(member) .offset = offsetof(struct options, member)

/* Keys of the options of a backend, from its first one on. */
enum {
	KEY_URL,
	KEY_DATABASE,
	KEY_USER,
	KEY_PASSWORD_FILE,
	KEY_TOKEN_FILE,
	KEY_CA_FILE,
	KEY_CERT_FILE,
	KEY_KEY_FILE,
	KEY_PROXY,
	KEY_TIMEOUT,
	KEY_COMPRESS,
	KEY_SIGNALS,
	KEYS_SEND,
};

/* Keys of options without a short form. */
enum {
	KEY_HANG = 256,
	KEY_STARTUP,
	KEY_MAIN_THREAD,
	KEY_NO_FOLLOW,
	KEY_AS,
	KEY_WORKERS,
	KEY_LOOP_FILE,
	KEY_DEBUG_DIR,
	KEY_MAPPING,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_FLEET_UNIT,
	KEY_FLEET_PROCESS,
	KEY_BY,
	KEY_OLDER,
	KEY_CLUSTER,
	KEY_FPS,
	KEY_CONCERN,
	KEY_IGNORE,
	KEY_DEBUGGING,
	KEY_BACKEND,
	KEY_MARKS,
	KEY_BTF,
	KEY_STACK_BYTES,
	KEY_KEEP,
	KEY_MAX_SIZE,
	KEY_QUALIFIER,
	KEY_FORMAT,
	KEY_JSON,
	KEY_INTERVAL,
	KEY_JOURNAL,
	KEY_RECORD,
	KEY_RECORD_ENTRIES,
	KEY_EACH,
	KEY_STACKS,
	KEY_SIG,
	KEY_GROUP,
	KEY_SORT,
	KEY_TOP,
	KEY_COLOR,
	KEY_ON_BLOCK,
	KEY_ON_HANG,
	KEY_ON_NEW,
	KEY_REACT_TIMEOUT,
	KEY_REACT_RATE,
	KEY_REDACT,
	KEY_REDACT_KEY,
	KEY_LISTEN,
	KEY_SCHEMA,
	KEY_RECORDS_PER_SIGNATURE,
	KEY_RECORDS_PER_SECOND,
	KEY_MAX_SIGNATURES,
	KEY_METRICS_LISTEN,
	KEY_METRICS_TEXTFILE,
	KEY_METRICS_CERT_FILE,
	KEY_METRICS_KEY_FILE,
	KEY_METRICS_USER,
	KEY_METRICS_PASSWORD_FILE,
	KEY_CONFIG,
	KEY_CHECK_CONFIG,
	KEY_SPOOL,
	KEY_SPOOL_MAX,
	KEY_RECORDS_USER,
	KEY_SEND_TIMEOUT,
	KEY_CLICKHOUSE,
	KEY_OTLP = KEY_CLICKHOUSE + KEYS_SEND,
	KEY_END_SEND = KEY_OTLP + KEYS_SEND,
	KEY_STATUS,
	KEY_PAUSE,
	KEY_RESUME,
	KEY_CONTROL,
	KEY_HOST_NAME,
	KEY_CPU,
	KEY_CPU_RECOVER,
	KEY_DISABLE_FEATURE,
};

const struct section_info option_sections[SECTION_CNT] = {
	[SECTION_TARGET] = { "What to trace", "jankbpf -- redis-server --port 7000",
			     "from the program's first instruction to its end" },
	[SECTION_BLOCK] = { "What is a block", "jankbpf -t 16ms --hang 2s -p 1234",
			    "what a user at 60 frames a second would notice" },
	[SECTION_PROBE] = { "How it is seen", "jankbpf -F 999 -p 1234",
			    "ten times the stacks of time on the CPU" },
	[SECTION_STOP] = { "When to stop", "jankbpf -d 1m -n 10 -p 1234",
			   "a minute, or ten blocks, whichever comes first" },
	[SECTION_OUTPUT] = { "Where blocks go",
			     "jankbpf --json -p 1234 | jq -r '.cause.frame.function // empty'",
			     "the function to blame, one a line" },
	[SECTION_AGENT] = { "The agent", "jankbpf agent --config jankbpf.conf",
			    "a run with this configuration, until SIGTERM" },
	[SECTION_SEND] = { "Where records are sent",
			   "jankbpf send --spool spool --otlp-url http://127.0.0.1:4318",
			   "what a run with --spool spool has left" },
	[SECTION_FLEET] = { "What the fleet says",
			    "jankbpf fleet top --by version --clickhouse-url http://ch1:8123",
			    "how long clients waited, and how often, by version" },
	[SECTION_OTHER] = { "Others", "jankbpf --schema > schema.json",
			    "what a record looks like" },
	[SECTION_TEST] = { "For tests", "jankbpf --disable-feature hw_cycles -p 1234",
			   "as on a machine without hardware counters" },
};

/* Commands that have the options of a backend. */
#define SENDS_SEND_CLICKHOUSE (SENDS | FLEET)
#define SENDS_SEND_OTLP	      SENDS

#define SEND_TEXT(KEY, name, arg_, i, member, help_, more_)                                        \
	{                                                                                          \
		SECTION_SEND, KEY, name, arg_, NULL, SENDS_##i, option__set_text,                  \
			AT(sends[i].member), .help = help_, .more = more_                          \
	}

/* The options that every backend has. */
#define SEND_ROWS(FIRST, word, i, url_more, compress_more)                                         \
	{ SECTION_SEND,                                                                            \
	  (FIRST) + KEY_URL,                                                                       \
	  word "-url",                                                                             \
	  "URL",                                                                                   \
	  NULL,                                                                                    \
	  SENDS_##i,                                                                               \
	  option__set_urls,                                                                        \
	  AT(sends[i]),                                                                            \
	  .help = "send the records of the spool there (repeatable: shards)",                      \
	  .more = url_more },                                                                      \
		SEND_TEXT((FIRST) + KEY_CA_FILE, word "-ca-file", "FILE", i, ca_file,              \
			  "trust these authorities (PEM), not the system's", NULL),                \
		SEND_TEXT((FIRST) + KEY_CERT_FILE, word "-cert-file", "FILE", i, cert_file,        \
			  "certificate of this client (PEM)", NULL),                               \
		SEND_TEXT((FIRST) + KEY_KEY_FILE, word "-key-file", "FILE", i, key_file,           \
			  "its private key (PEM), closed to others", NULL),                        \
		SEND_TEXT((FIRST) + KEY_PROXY, word "-proxy", "URL", i, proxy,                     \
			  "reach it by this proxy, not by that of the environment", NULL),         \
		{ SECTION_SEND,                                                                    \
		  (FIRST) + KEY_TIMEOUT,                                                           \
		  word "-timeout",                                                                 \
		  "TIME",                                                                          \
		  "30s",                                                                           \
		  SENDS_##i,                                                                       \
		  option__set_long_time,                                                           \
		  AT(sends[i].timeout_ns),                                                         \
		  .min = 100 * NS_PER_MS,                                                          \
		  .max = HOUR_NS,                                                                  \
		  .help = "of a request" },                                                        \
	{                                                                                          \
		SECTION_SEND, (FIRST) + KEY_COMPRESS, word "-compress", "gzip|zstd|none", "gzip",  \
			SENDS, option__set_word, AT(sends[i].compress),                            \
			.help = "of the bodies of requests", .more = compress_more                 \
	}

const struct option_row option_rows[] = {
	{ SECTION_TARGET, 'p', "pid", "PID[,PID…]", NULL, TRACES | LOOPS, option__set_pids,
	  AT(pids), .min = 1, .max = PID_MAX,
	  .help = "these processes, all their threads (repeatable)",
	  .more = "Or the name of a process, in full, if only one has it. Threads that they start later are followed. Tracing ends when all of them have "
		  "ended." },
	{ SECTION_TARGET, .arg = "COMMAND [ARG…]", .commands = TRACE,
	  .help = "start COMMAND and trace it from its first instruction",
	  .more = "Every later word belongs to COMMAND. Tracing ends when it ends, and the exit "
		  "status is then COMMAND's." },
	{ SECTION_TARGET, KEY_AS, "as", "USER", NULL, TRACE, option__set_text, AT(as),
	  .help = "run COMMAND as this user, not as root",
	  .more = "A name or number of /etc/passwd. COMMAND gets that user's groups of /etc/group, "
		  "and HOME, USER, LOGNAME and SHELL; the rest of the environment and the current "
		  "directory stay. With sudo: --as $USER." },
	{ SECTION_TARGET, 'f', "follow", NULL, NULL, TRACES, option__set_flag, AT(follow),
	  .help = "child processes too, existing and new; a COMMAND's are by default",
	  .more = "Whatever their names are. A child is looked at when one of its threads is seen "
		  "to wait in a loop. Tracing ends with COMMAND, or when all processes of -p and "
		  "the children that were seen in a loop have ended." },
	{ SECTION_TARGET, KEY_NO_FOLLOW, "no-follow", NULL, NULL, TRACE, option__set_flag,
	  AT(no_follow), .help = "COMMAND's own process only" },
	{ SECTION_TARGET, 'a', "all", NULL, NULL, TRACES | LOOPS, option__set_all,
	  .help = "every process on the machine, those started later too",
	  .more = "But for jankbpf itself. A process is looked at when one of its threads is seen "
		  "to wait in a loop." },
	{ SECTION_TARGET, 'c', "comm", "GLOB", NULL, TRACES | LOOPS, option__set_comm,
	  .help = "-a, narrowed: processes with such a name (repeatable)",
	  .more = "The name that ps -o comm shows, in which * stands for any bytes and ? for one. "
		  "Of -c, -u and -g each narrows further; several of one kind widen it." },
	{ SECTION_TARGET, 'u', "uid", "UID|NAME", NULL, TRACES | LOOPS, option__set_uid,
	  .help = "-a, narrowed: this user's processes (repeatable)",
	  .more = "By the real user id. A name is looked up in /etc/passwd." },
	{ SECTION_TARGET, 'g', "cgroup", "PATH", NULL, TRACES | LOOPS, option__set_cgroup,
	  .help = "-a, narrowed: what runs in this cgroup or below it (repeatable)",
	  .more = "A path in the hierarchy of version 2, with or without /sys/fs/cgroup before it, "
		  "or a "
		  "systemd unit's name (redis.service, user.slice)." },
	{ SECTION_TARGET, KEY_WORKERS, "workers", NULL, NULL, TRACES, option__set_flag, AT(workers),
	  .help = "also threads of pools, which wait for work on locks or in accept",
	  .more = "A worker's loop is the place that it keeps returning to (docs/loops.md). "
		  "Without "
		  "it only main threads and those of user interfaces are watched so." },
	{ SECTION_TARGET, KEY_MAIN_THREAD, "main-thread", NULL, NULL, TRACES | LOOPS,
	  option__set_main_thread, .help = "only each process's main thread" },
	{ SECTION_TARGET, 'l', "loop", "NAME[,NAME…]", NULL, TRACES | LOOPS, option__set_loops,
	  .help = "only these kinds of loop (repeatable)", .more = "jankbpf loops lists them." },
	{ SECTION_TARGET, KEY_LOOP_FILE, "loop-file", "FILE", NULL, TRACES | LOOPS | REPLAY,
	  option__set_loop_file, AT(loop_files), .help = "more kinds of loop (repeatable)",
	  .more = "A row of FILE takes the place of a built-in one of the same name. What FILE "
		  "looks like: docs/loops.md. For replay: the files that the recording was made "
		  "with." },
	{ SECTION_BLOCK, 't', "threshold", "TIME", "100ms", TRACES | REPLAY, option__set_time,
	  AT(threshold_ns), .min = NS_PER_US, .max = HOUR_NS,
	  .help = "a dispatch delayed for longer is a block",
	  .more = "A journal holds what was a block when it was made: replay can raise the "
		  "threshold, not lower it." },
	{ SECTION_BLOCK, KEY_HANG, "hang", "TIME", "5s", TRACES, option__set_long_time, AT(hang_ns),
	  .min = NS_PER_MS, .max = 24 * HOUR_NS, .zero = true,
	  .help = "report a dispatch open for longer; 0 = never",
	  .more = "It is reported again at each of Android's limits that it exceeds (ANR: 5, 10, "
		  "20 and "
		  "200 s), and as a block at its end. Not shorter than the threshold: "
		  "where the threshold is longer than the default, it takes its place." },
	{ SECTION_BLOCK, KEY_STARTUP, "startup", "TIME", "1s", TRACES | REPLAY,
	  option__set_long_time, AT(startup_ns), .min = 100 * NS_PER_MS, .max = 24 * HOUR_NS,
	  .zero = true, .help = "a start-up that takes longer is a block; 0 = none",
	  .more = "From the exec or fork of a process that is traced then to the first wait in the "
		  "loop of its main thread. Waits for the user's input do not count. A program that "
		  "reaches no loop gives nothing." },
	{ SECTION_BLOCK, KEY_FPS, "fps", "HZ", "60", RUNS | REPLAY, option__set_unsigned, AT(fps),
	  .min = 1, .max = 1000, .help = "frame rate for the dropped-frames figure" },
	{ SECTION_BLOCK, KEY_DEBUGGING, "debugging", NULL, NULL, TRACES | REPLAY, option__set_flag,
	  AT(debugging), .help = "also blocks that were mostly stopped by a debugger or signal",
	  .more = "Without it a block that was stopped for most of its time is not reported." },
	{ SECTION_BLOCK, KEY_CONCERN, "concern", "GLOB", NULL, TRACES | REPLAY, option__set_concern,
	  .help = "blame these functions, modules or files first (repeatable)",
	  .more = "On a stack with a frame that matches, only such frames are the application's: "
		  "the innermost one is blamed. * stands for any bytes, ? for one. GLOB is "
		  "compared with the function, its short name, the module and the source file, "
		  "with and without directories." },
	{ SECTION_BLOCK, KEY_IGNORE, "ignore", "GLOB|SIG", NULL, TRACES | REPLAY,
	  option__set_ignore, .help = "count such blocks, but do not report them (repeatable)",
	  .more = "GLOB as for --concern, compared with the function to blame and with each "
		  "application frame; or 8 or more digits of a signature. The summary has the "
		  "count of each." },
	{ SECTION_PROBE, KEY_BACKEND, "backend", "auto|kernel|uprobe", "auto", TRACES,
	  option__set_word, AT(backend), .help = "see waits by system calls or by probes on libc",
	  .more = "kernel uses system-call tracepoints, serves static and Go programs too and "
		  "costs least; uprobe puts probes into the target's libc and is for kernels "
		  "without such tracepoints and for comparison; auto takes what the kernel has, "
		  "the cheaper first." },
	{ SECTION_PROBE, KEY_MARKS, "marks", "auto|always|never", "auto", TRACES, option__set_word,
	  AT(marks), .help = "when to probe message handlers",
	  .more = "These probes show what a loop handles, for a microsecond or more a message. "
		  "auto gives them to a process after one second with less than 2,000 dispatches, "
		  "takes them away when it has more, and returns them for 5 s after a slow one, "
		  "at most a tenth of the time. "
		  "Without them a block is a turn of the loop, described by its ready descriptors "
		  "and stacks." },
	{ SECTION_PROBE, 'F', "frequency", "HZ", "99", TRACES, option__set_unsigned,
	  AT(frequency_hz), .min = 0, .max = 9999,
	  .help = "on-CPU stack samples per second and CPU; 0 = none" },
	{ SECTION_PROBE, KEY_STACK_BYTES, "stack-bytes", "SIZE", "16k", TRACES, option__set_size,
	  AT(stack_sz), .min = 4096, .max = JANK_COPY_MAX, .zero = true,
	  .help = "bytes of each stack to copy; 0 = frame pointers",
	  .more = "The callers are found in the copy by the unwind tables of programs and "
		  "libraries, "
		  "with frame pointers or without. A process with deeper stacks is copied "
		  "further by itself, up to 64 KiB. With 0 the probes follow frame pointers, which "
		  "most distributions' programs have none of." },
	{ SECTION_PROBE, KEY_BTF, "btf", "FILE", NULL, TRACES | LOOPS | DOCTOR, option__set_text,
	  AT(btf_path), .help = "the kernel's types, where it has none itself: raw BTF or vmlinux",
	  .more = "Read instead of /sys/kernel/btf/vmlinux, and of what is built in for some "
		  "kernels without it. It must be the running kernel's: what another one's says "
		  "leads to nonsense." },
	{ SECTION_STOP, 'd', "duration", "TIME", NULL, TRACES | LOOPS, option__set_long_time,
	  AT(duration_ns), .min = NS_PER_MS, .max = YEAR_NS, .help = "stop after this long",
	  .more = "loops watches for one second by default." },
	{ SECTION_STOP, 'n', "count", "N", NULL, SHOWS | REPLAY, option__set_count, AT(count),
	  .min = 1, .max = UINT64_MAX, .help = "stop after N blocks; top: after N tables" },
	{ SECTION_OUTPUT, 'b', "batch", NULL, NULL, TOP, option__set_flag, AT(batch),
	  .help = "top: tables as text, one each --interval, without a terminal" },
	{ SECTION_OUTPUT, 'o', "output", "DIR", NULL, TRACES | REPLAY | REPORT, option__set_text,
	  AT(output_dir), .help = "keep the blocks in DIR: the records and BlockCanary's logs",
	  .more = "DIR/blocks.jsonl gets every record (blocks.pb with --format proto), and each "
		  "block a log that BlockCanary's own reader opens. DIR is made where it isn't "
		  "there, for its owner alone. A DIR that other users can write "
		  "to is refused: they could replace its files. For report: the file to write; it "
		  "appears when it is complete. --format blockcanary: a directory." },
	{ SECTION_OUTPUT, KEY_KEEP, "keep", "TIME", "48h", TRACES | REPLAY, option__set_long_time,
	  AT(keep_ns), .min = NS_PER_SEC, .max = 10 * YEAR_NS, .zero = true,
	  .help = "with -o: delete logs older than this; 0 = never" },
	{ SECTION_OUTPUT, KEY_MAX_SIZE, "max-size", "SIZE", "256M", TRACES | REPLAY,
	  option__set_size, AT(max_size), .min = MIB, .max = 16 * 1024 * GIB, .zero = true,
	  .help = "with -o: delete the oldest beyond this; 0 = never",
	  .more = "SIZE is a number of bytes with k, M or G, powers of 1024." },
	{ SECTION_OUTPUT, KEY_QUALIFIER, "qualifier", "TEXT", NULL, TRACES | REPORT,
	  option__set_text, AT(qualifier),
	  .help = "with -o: BlockCanary's qualifier (qua), a name for this run" },
	{ SECTION_OUTPUT, KEY_FORMAT, "format", "text|json|proto", "text", RUNS | REPLAY,
	  option__set_word, AT(format), .help = "of the records on stdout and in DIR",
	  .more = "json: JSON Lines. proto: messages of schema/blockinfo.proto, each after its "
		  "length as a varint; DIR then holds blocks.pb. It is binary: with -o a terminal "
		  "shows text instead, without -o it is refused there. text is for people; DIR "
		  "holds "
		  "JSON Lines then." },
	{ SECTION_OUTPUT, KEY_FORMAT, "format",
	  "md|html|folded|pprof|perfetto|speedscope|blockcanary", "md", REPORT, option__set_word,
	  AT(report_format), .help = "of a report",
	  .more = "md: Markdown. html: a page for a browser. blockcanary: one log a block "
		  "in the directory of -o, for BlockCanary's own reader, which deletes those older "
		  "than 48 h. The others are for flame graphs, pprof, Perfetto and speedscope "
		  "(docs/report.md)." },
	{ SECTION_OUTPUT, KEY_JSON, "json", NULL, NULL,
	  TRACE | REPLAY | LOOPS | DOCTOR | DIFF | FLEET | AGENT, option__set_json,
	  .help = "JSON on stdout; of records the same as --format json",
	  .more = "loops, doctor, diff and fleet print one object (docs/contract.md)." },
	{ SECTION_OUTPUT, KEY_EACH, "each", NULL, NULL, TRACE | REPLAY, option__set_flag, AT(each),
	  .help = "text: every block in full, not only the first of its fault",
	  .more = "Blocks of one fault have the same signature. Without it, the second and later "
		  "ones are a line each: time, delay, how many so far, signature, cause." },
	{ SECTION_OUTPUT, KEY_STACKS, "stacks", "N", "2", TRACE | REPLAY | REPORT | FLEET,
	  option__set_unsigned, AT(stacks), .min = 0, .max = 1000,
	  .help = "text: stacks of a block, the longest first",
	  .more = "With the default a block has at most 25 lines; -v shows all stacks." },
	{ SECTION_OUTPUT, KEY_SIG, "sig", "HEX", NULL, TRACES | REPLAY | REPORT,
	  option__set_signature, AT(sig),
	  .help = "only blocks of this fault: of this signature or its first digits" },
	{ SECTION_OUTPUT, KEY_GROUP, "group", "signature|process|loop|message", "signature",
	  TRACE | REPLAY, option__set_word, AT(group),
	  .help = "what the summary groups blocks by" },
	{ SECTION_OUTPUT, KEY_SORT, "sort", "total|blocks|max|last", "total",
	  TRACE | REPLAY | REPORT, option__set_word, AT(sort),
	  .help = "order of the faults in the summary and in md",
	  .more = "total: the sum of their delays. last: the newest block first." },
	{ SECTION_OUTPUT, KEY_TOP, "top", "N", "10", SHOWS | REPLAY | REPORT | FLEET,
	  option__set_unsigned, AT(top), .min = 0, .max = 1000,
	  .help = "text, md, fleet: faults that are shown; 0 = all" },
	{ SECTION_OUTPUT, KEY_COLOR, "color", "auto|always|never", "auto", SHOWS | REPLAY | FLEET,
	  option__set_word, AT(color), .help = "colours of the text",
	  .more = "auto: on a terminal, unless NO_COLOR is set." },
	{ SECTION_OUTPUT, KEY_INTERVAL, "interval", "TIME", NULL, TRACES, option__set_long_time,
	  AT(interval_ns), .min = 100 * NS_PER_MS, .max = HOUR_NS,
	  .help = "also a record of each such time: its dispatches and blocks",
	  .more = "The counts of each loop since the record before, with histograms, and the "
		  "dispatches that have not ended. Of a run that is killed, only the last one is "
		  "missing. As text it is a line. For top: the time between two tables, by default "
		  "1 s." },
	{ SECTION_OUTPUT, KEY_JOURNAL, "journal", "FILE", NULL, RUNS, option__set_text, AT(journal),
	  .help = "also keep the raw event stream, for replay",
	  .more = "FILE gets mode 0600. An existing FILE is overwritten if it is ours; another "
		  "user's, or one with more than one name, is refused." },
	{ SECTION_OUTPUT, KEY_RECORD, "record", "TIME", NULL, TRACE, option__set_long_time,
	  AT(record_ns), .min = 100 * NS_PER_MS, .max = 600 * NS_PER_SEC,
	  .help = "with -o: also a Perfetto trace of this long before each block",
	  .more = "The kernel keeps what each CPU did in memory of at most 64 MB, which is "
		  "overwritten. A second after a block, DIR gets history-….pftrace for "
		  "ui.perfetto.dev: which thread ran where, who woke the watched threads, and "
		  "the block. Blocks that are close together share a trace. Such as 20s." },
	{ SECTION_OUTPUT, KEY_ON_BLOCK, "on-block", "SHELL-COMMAND", NULL, RUNS, option__set_text,
	  AT(on_command[0]), .help = "run this by sh for each block, as the user of sudo",
	  .more = "The record is on its stdin as JSON, main fields are in its environment: "
		  "JANKBPF_SUMMARY, JANKBPF_PID and others (docs/reactions.md). One command runs "
		  "at a time, and no record waits for it; what is skipped or fails is counted in "
		  "the summary. Without sudo it runs as the user who started jankbpf." },
	{ SECTION_OUTPUT, KEY_ON_HANG, "on-hang", "SHELL-COMMAND", NULL, RUNS, option__set_text,
	  AT(on_command[1]), .help = "the same for each report of a hang, while it lasts" },
	{ SECTION_OUTPUT, KEY_ON_NEW, "on-new", "SHELL-COMMAND", NULL, RUNS, option__set_text,
	  AT(on_command[2]), .help = "the same for the first block of each fault of this run" },
	{ SECTION_OUTPUT, KEY_REACT_TIMEOUT, "react-timeout", "TIME", "10s", RUNS,
	  option__set_long_time, AT(react_timeout_ns), .min = 100 * NS_PER_MS, .max = HOUR_NS,
	  .help = "kill such a command after this long",
	  .more = "With all processes of its group. The end of a run waits as long for commands." },
	{ SECTION_OUTPUT, KEY_REACT_RATE, "react-rate", "N", "60", RUNS, option__set_unsigned,
	  AT(react_rate), .min = 1, .max = 6000, .zero = true,
	  .help = "such commands a minute, after ten at once; 0 = no limit" },
	{ SECTION_OUTPUT, KEY_REDACT, "redact", "paths|peers|messages", NULL, RUNS | REPLAY,
	  option__set_words, AT(redact), .help = "hash these in all records; several with commas",
	  .more = "For records that leave the machine. paths: of files, modules, programs and "
		  "cgroups, names of processes and threads, and functions' names that hold a "
		  "path. peers: addresses, ports and host names. messages: what a message was, "
		  "its handler, callback and source. Each becomes redacted- and 16 hexadecimal "
		  "digits; within one key the same text gives the same digits. The verdict's "
		  "sentence is left out. Not hashed: other functions' names, build ids, numbers, "
		  "the journal, messages on stderr." },
	{ SECTION_OUTPUT, KEY_REDACT_KEY, "redact-key", "FILE", NULL, RUNS | REPLAY,
	  option__set_text, AT(redact_key),
	  .help = "with --redact: 16 bytes as the key, not random ones",
	  .more = "Runs with the same key give the same hashes. FILE must belong to the user and "
		  "be closed to others (chmod 600); head -c 16 /dev/urandom makes one." },
	{ SECTION_AGENT, KEY_CONFIG, "config", "FILE", "/etc/jankbpf/jankbpf.conf", AGENT,
	  option__set_text, AT(config), .help = "its configuration",
	  .more = "Sections with the names of options as keys (docs/agent.md). Options of the "
		  "command line take the place of its keys. SIGHUP reads it again. It must belong "
		  "to root or to the user, and be writable by nobody else." },
	{ SECTION_AGENT, KEY_CHECK_CONFIG, "check-config", NULL, NULL, AGENT, option__set_flag,
	  AT(check_config), .help = "print what would run, or all errors; needs no privilege" },
	{ SECTION_AGENT, KEY_STATUS, "status", NULL, NULL, AGENT, option__set_flag, AT(ask_status),
	  .help = "print the state of the agent that runs; with --json as JSON" },
	{ SECTION_AGENT, KEY_PAUSE, "pause", NULL, NULL, AGENT, option__set_flag, AT(ask_pause),
	  .help = "the agent that runs records nothing, until --resume",
	  .more = "Its probes stay attached. Intervals and the summary say how long it was "
		  "paused, and count no dispatch that ended in that time." },
	{ SECTION_AGENT, KEY_RESUME, "resume", NULL, NULL, AGENT, option__set_flag, AT(ask_resume),
	  .help = "it records again" },
	{ SECTION_AGENT, KEY_CONTROL, "control", "PATH", "/run/jankbpf/control", AGENT,
	  option__set_path, AT(control), .help = "of --status, --pause, --resume; or off",
	  .more = "A Unix socket that only root and the agent's own user can use." },
	{ SECTION_AGENT, KEY_HOST_NAME, "host-name", "NAME", NULL, AGENT, option__set_text,
	  AT(host_name), .help = "this machine's name in records; else that of uname",
	  .more = "In a container uname has the container's name, another one after each update." },
	{ SECTION_AGENT, KEY_RECORDS_PER_SIGNATURE, "records-per-signature", "N", "5", AGENT,
	  option__set_unsigned, AT(records_per_signature), .min = 1, .max = 1000000, .zero = true,
	  .help = "records of each fault an hour; 0 = no limit",
	  .more = "Further blocks of a fault are counted, in the records of intervals and in the "
		  "summary. One that is worse than all before is still a record." },
	{ SECTION_AGENT, KEY_RECORDS_PER_SECOND, "records-per-second", "N", "20", AGENT,
	  option__set_unsigned, AT(records_per_s), .min = 1, .max = 100000, .zero = true,
	  .help = "records a second of all faults together; 0 = no limit",
	  .more = "As many may come at once. Further blocks are counted." },
	{ SECTION_AGENT, KEY_MAX_SIGNATURES, "max-signatures", "N", "200", AGENT,
	  option__set_unsigned, AT(max_signatures), .min = 1, .max = 10000,
	  .help = "faults with a counter of their own in the metrics",
	  .more = "The others are counted together, with the signature \"other\"." },
	{ SECTION_AGENT, KEY_CPU, "cpu", "PERCENT", "off", AGENT, option__set_percent, AT(cpu_ppm),
	  .min = 100, .max = 1000000, .help = "own CPU time, of one core, with that of the probes",
	  .more = "Such as 1%. Over it, judged over 10 s, a governor takes away marks, copies of "
		  "stacks, samples, loops of pools, and whole processes, the busiest first, until "
		  "it is kept; then nothing is watched. Each step is in the records. off: no budget." },
	{ SECTION_AGENT, KEY_CPU_RECOVER, "cpu-recover", "TIME", "30s", AGENT,
	  option__set_long_time, AT(cpu_recover_ns), .min = NS_PER_SEC, .max = HOUR_NS,
	  .help = "give a step back after so long below 60 % of it",
	  .more = "Twice as long each time that this was too early, up to an hour." },
	{ SECTION_AGENT, KEY_METRICS_LISTEN, "metrics-listen", "ADDRESS", LISTEN_DEFAULT, AGENT,
	  option__set_listen, AT(metrics_listen), .help = "serve /metrics here; off: do not",
	  .more = "127.0.0.1:PORT, [::1]:PORT or another address of this machine. Whoever can "
		  "reach it may read names of programs, units and functions, unless there is "
		  "--metrics-user." },
	{ SECTION_AGENT, KEY_METRICS_TEXTFILE, "metrics-textfile", "FILE", NULL, AGENT,
	  option__set_text, AT(metrics_textfile),
	  .help = "write the metrics to FILE at each interval",
	  .more = "For node_exporter's textfile collector: FILE ends in .prom. It is replaced as a "
		  "whole." },
	{ SECTION_AGENT, KEY_METRICS_CERT_FILE, "metrics-cert-file", "FILE", NULL, AGENT,
	  option__set_text, AT(metrics_cert),
	  .help = "serve /metrics by TLS, with this certificate",
	  .more = "PEM, with the certificates of its authorities after it. Read once, at the "
		  "start." },
	{ SECTION_AGENT, KEY_METRICS_KEY_FILE, "metrics-key-file", "FILE", NULL, AGENT,
	  option__set_text, AT(metrics_key),
	  .help = "its private key (PEM, without a passphrase), closed to others" },
	{ SECTION_AGENT, KEY_METRICS_USER, "metrics-user", "USER", NULL, AGENT,
	  option__set_metrics_user, AT(metrics_user), .help = "only this user may read /metrics",
	  .more = "By HTTP basic authentication: username of basic_auth in Prometheus." },
	{ SECTION_AGENT, KEY_METRICS_PASSWORD_FILE, "metrics-password-file", "FILE", NULL, AGENT,
	  option__set_text, AT(metrics_password),
	  .help = "the user's password: the first line of FILE",
	  .more = "FILE is closed to others; Prometheus' password_file may be the same. Read once, "
		  "at the start. Beyond loopback it needs TLS." },
	{ SECTION_SEND, KEY_SPOOL, "spool", "DIR", NULL, RUNS | REPLAY | SEND, option__set_text,
	  AT(spool), .help = "keep the records in DIR until each backend has them",
	  .more = "Compressed batches in files of bounded size; a backend that was away gets them "
		  "later, at least once. What --redact hashes is hashed there, too. DIR is made "
		  "where it isn't there, for its owner alone (docs/agent.md)." },
	{ SECTION_SEND, KEY_SPOOL_MAX, "spool-max", "SIZE", "256M", RUNS | REPLAY, option__set_size,
	  AT(spool_max), .min = MIB, .max = 16 * 1024 * GIB,
	  .help = "with --spool: drop the oldest records beyond this",
	  .more = "Those that some backend has not yet are counted (spool_full)." },
	{ SECTION_SEND, KEY_RECORDS_USER, "records-user", "USER", NULL, RUNS, option__set_text,
	  AT(records_user), .help = "the user that writes and sends records",
	  .more = "A name or number of /etc/passwd. By default the user of sudo; of the agent "
		  "jankbpf, if there is that user. Directories of root become that user's." },
	{ SECTION_SEND, KEY_SEND_TIMEOUT, "timeout", "TIME", NULL, SEND, option__set_long_time,
	  AT(send_timeout_ns), .min = 100 * NS_PER_MS, .max = YEAR_NS,
	  .help = "send: end after this long, even if records are left" },
	SEND_ROWS(KEY_CLICKHOUSE, "clickhouse", SEND_CLICKHOUSE,
		  "The HTTP port, such as http://ch1:8123. Several URLs with blanks between them "
		  "are replicas: if one does not take the records, the next is asked. Of several "
		  "of these options this machine always uses the same one.",
		  "ClickHouse 18.16, of Debian 12, takes no zstd."),
	SEND_TEXT(KEY_CLICKHOUSE + KEY_DATABASE, "clickhouse-database", "NAME", SEND_CLICKHOUSE,
		  database, "its database; jankbpf by default", NULL),
	SEND_TEXT(KEY_CLICKHOUSE + KEY_USER, "clickhouse-user", "USER", SEND_CLICKHOUSE, user,
		  "its user", NULL),
	SEND_TEXT(KEY_CLICKHOUSE + KEY_PASSWORD_FILE, "clickhouse-password-file", "FILE",
		  SEND_CLICKHOUSE, password_file, "the user's password: the first line of FILE",
		  "It is read again for each request."),
	SEND_ROWS(KEY_OTLP, "otlp", SEND_OTLP,
		  "An OTLP/HTTP receiver, such as http://collector:4318. Several URLs as for "
		  "--clickhouse-url.",
		  "OpenTelemetry's collector takes all of them."),
	SEND_TEXT(KEY_OTLP + KEY_TOKEN_FILE, "otlp-token-file", "FILE", SEND_OTLP, token_file,
		  "a bearer token: the first line of FILE", "It is read again for each request."),
	{ SECTION_SEND, KEY_OTLP + KEY_SIGNALS, "otlp-signals", "logs|metrics|profiles", NULL,
	  SENDS, option__set_words, AT(sends[SEND_OTLP].signals),
	  .help = "send only these, several with commas; all by default",
	  .more = "For a receiver that takes only some, such as that of Prometheus: metrics. What "
		  "is left out counts as sent." },
	{ SECTION_FLEET, KEY_UNTIL, "until", "TIME", NULL, FLEET, option__set_since, AT(until_ns),
	  .help = "only blocks that began before this time; now by default" },
	{ SECTION_FLEET, KEY_FLEET_UNIT, "unit", "NAME", NULL, FLEET, option__set_text,
	  AT(fleet_unit), .help = "only this systemd unit" },
	{ SECTION_FLEET, KEY_FLEET_PROCESS, "process", "NAME", NULL, FLEET, option__set_text,
	  AT(fleet_process), .help = "only processes of this name" },
	{ SECTION_FLEET, KEY_BY, "by", "signature|unit|version|host", "signature", FLEET,
	  option__set_word, AT(fleet_by), .help = "top: what a row is" },
	{ SECTION_FLEET, KEY_OLDER, "older", "TIME", NULL, FLEET, option__set_long_time,
	  AT(older_ns), .min = HOUR_NS, .max = 50 * YEAR_NS,
	  .help = "drop: days that ended so long ago, such as 2160h" },
	{ SECTION_FLEET, KEY_CLUSTER, "cluster", "NAME", "jankbpf", FLEET, option__set_text,
	  AT(fleet_cluster), .help = "drop: the cluster in the servers' remote_servers" },
	{ SECTION_OTHER, KEY_DEBUG_DIR, "debug-dir", "DIR", NULL, SYMBOLIZE | REPLAY,
	  option__set_debug_dir, AT(debug_dirs),
	  .help = "symbolize, replay: programs or debug files are below DIR (repeatable)",
	  .more = "Files are known by their build ids: DIR/.build-id/xx/yyyy.debug, and any "
		  "program, "
		  "library or debug file below DIR, also in APKs. /usr/lib/debug is looked at "
		  "last." },
	{ SECTION_OTHER, KEY_MAPPING, "mapping", "FILE", NULL, RECORDS | REPORT, option__set_text,
	  AT(mapping), .help = "give obfuscated Java code its original names, by R8's mapping.txt",
	  .more = "FILE is the mapping.txt that R8 or ProGuard wrote for this build of an Android "
		  "app: classes, methods, lines and inlined methods. A method that may be one of "
		  "several keeps its short name. replay and a trace judge with the original "
		  "names; symbolize and report change the frames only. Use it once: lines of "
		  "names that are original already would be taken for compiled ones." },
	{ SECTION_OTHER, KEY_SINCE, "since", "TIME", NULL, REPORT | FLEET, option__set_since,
	  AT(since_ns), .help = "report, fleet: only blocks that began at this time or later",
	  .more = "RFC 3339, a local time as in '2026-05-04 10:20:30', or 10m or 2h for so long "
		  "ago. fleet: 24h by default." },
	{ SECTION_OTHER, KEY_LISTEN, "listen", "ADDRESS", "127.0.0.1:7390", SERVE, option__set_text,
	  AT(listen), .help = "serve: a loopback address, or unix:PATH",
	  .more = "127.0.0.1:PORT, [::1]:PORT (port 0: a free one) or unix:PATH." },
	{ SECTION_OTHER, 'v', "verbose", NULL, NULL, ALWAYS, option__set_verbosity, AT(verbosity),
	  .value = 1, .help = "say more; twice: everything" },
	{ SECTION_OTHER, 'q', "quiet", NULL, NULL, ALWAYS, option__set_verbosity, AT(verbosity),
	  .value = -1, .help = "say less: records and errors only" },
	{ SECTION_OTHER, KEY_SCHEMA, "schema", NULL, NULL, RECORDS, option__set_command,
	  AT(command), .value = CMD_SCHEMA, .help = "print the JSON Schema of the records" },
	{ SECTION_OTHER, 'h', "help", NULL, NULL, ALWAYS, option__set_command, AT(command),
	  .value = CMD_HELP, .help = "print this; after a command, its own options" },
	{ SECTION_OTHER, 'V', "version", NULL, NULL, ALWAYS, option__set_command, AT(command),
	  .value = CMD_VERSION, .help = "print the version" },
	{ SECTION_TEST, KEY_DISABLE_FEATURE, "disable-feature", "NAME", NULL,
	  TRACES | LOOPS | DOCTOR, option__set_disabled, AT(disabled),
	  .help = "do as if the kernel lacked this (repeatable; names: doctor)" },
	{ SECTION_TEST, KEY_RECORD_ENTRIES, "record-entries", "N", NULL, TRACE,
	  option__set_unsigned, AT(record_entries), .min = 64, .max = 1 << 20,
	  .help = "buffers of --record with so many entries a CPU" },
};

const size_t option_row_cnt = sizeof(option_rows) / sizeof(*option_rows);

_Static_assert(sizeof(option_rows) / sizeof(*option_rows) <= OPTION_ROWS_MAX, "given: too small");
