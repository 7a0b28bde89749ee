/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of a run. schema/options.tbl has their names, ranges, defaults and texts; of it come the
 * tables of the parser, --help, the man page and the completions.
 */
#ifndef JANK_OPTIONS_OPTIONS_H
#define JANK_OPTIONS_OPTIONS_H

#include "base/err.h"
#include "options/filter.h"
#include "options/override.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef JANK_VERSION
#define JANK_VERSION "0.1.0"
#endif

enum command {
	CMD_TRACE,
	CMD_TOP,
	CMD_AGENT,
	CMD_REPLAY,
	CMD_LOOPS,
	CMD_DOCTOR,
	CMD_SYMBOLIZE,
	CMD_REPORT,
	CMD_DIFF,
	CMD_SERVE,
	CMD_SEND,
	CMD_FLEET,
	CMD_COMPLETION,
	CMD_SCHEMA,
	CMD_HELP,
	CMD_VERSION
};
/* In the order of the words in schema/options.tbl. */
enum probe_backend { BACKEND_AUTO, BACKEND_KERNEL, BACKEND_UPROBE };
enum marks { MARKS_AUTO, MARKS_ALWAYS, MARKS_NEVER };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_PROTO };
enum report_format {
	REPORT_MD,
	REPORT_HTML,
	REPORT_FOLDED,
	REPORT_PPROF,
	REPORT_PERFETTO,
	REPORT_SPEEDSCOPE,
	REPORT_BLOCKCANARY
};

struct sink;
struct metrics_access;

/* How records reach a backend; NULL: not given. */
struct backend_options {
	const char **urls; /* shards; each has the URLs of its replicas, with blanks between them */
	size_t url_cnt;	   /* 0: nothing is sent there */
	const char *database;
	const char *user, *password_file, *token_file;
	const char *ca_file, *cert_file, *key_file;
	const char *proxy;
	uint64_t timeout_ns; /* of a request */
	unsigned compress;   /* enum compress: of the bodies of requests */
	unsigned signals;    /* bits of the backend's parts that are sent; 0: all of them */
};

enum compress { COMPRESS_GZIP, COMPRESS_ZSTD, COMPRESS_NONE };

enum { SEND_CLICKHOUSE, SEND_OTLP, SEND_CNT };

#define OPTION_ROWS_MAX 128 /* of the table of options */

struct options {
	enum command command;
	pid_t *pids; /* -p, without duplicates */
	size_t pid_cnt;
	struct filter filter; /* -a and its filters, except -l */
	char **loops;	      /* -l, without duplicates: names for the catalogue */
	size_t loop_cnt;
	bool follow; /* -f, or a COMMAND without --no-follow: trace children, too */
	bool no_follow;
	bool workers;	/* --workers: treat threads of pools as loops, too */
	char **argv;	/* after --: NULL-terminated, borrowed from main's argv; or NULL */
	const char *as; /* --as: COMMAND's user; NULL: ours */
	uint64_t threshold_ns, hang_ns, startup_ns;
	unsigned fps;
	bool threshold_given, startup_given, fps_given; /* for replay: else the recording's value */
	enum probe_backend backend;
	enum marks marks;
	const char *btf_path;	 /* NULL: the kernel's own, or the built-in one */
	unsigned frequency_hz;	 /* 0: no samples */
	uint64_t stack_sz;	 /* bytes of a user stack to copy; 0: none */
	uint64_t duration_ns;	 /* 0: until stopped */
	uint64_t count;		 /* 0: no limit */
	uint64_t interval_ns;	 /* --interval; 0: none */
	bool batch;		 /* top: tables in text, no screen */
	const char *output_dir;	 /* NULL: none; for report: the output file */
	uint64_t record_ns;	 /* --record: history before a block; 0: none */
	unsigned record_entries; /* --record-entries, for tests: of a CPU; 0: as many as it needs */
	uint64_t keep_ns, max_size;
	enum format format;
	enum report_format report_format;
	bool each;	      /* text: every block in full */
	unsigned stacks, top; /* text: stacks of a block; faults of the summary, 0: all */
	const char *sig;      /* only blocks whose signature begins so; NULL: all */
	unsigned group, sort; /* enum fault_group, enum fault_order: in the order of the words */
	enum color color;
	bool debugging;	     /* report blocks that a debugger or SIGSTOP stopped most of the time */
	const char *journal; /* NULL: none; for replay: the input file */
	const char *on_command[3]; /* --on-block, --on-hang, --on-new: enum reaction; NULL: none */
	uint64_t react_timeout_ns;
	unsigned react_rate;		/* commands a minute; 0: no limit */
	const char **concern, **ignore; /* --concern and --ignore (repeatable) */
	size_t concern_cnt, ignore_cnt;
	unsigned redact;	 /* bits of --redact, in the order of its words */
	const char *redact_key;	 /* NULL: a random key */
	const char *qualifier;	 /* BlockCanary's qualifier; NULL: none given */
	const char **loop_files; /* --loop-file FILE (repeatable) */
	size_t loop_file_cnt;
	const char **debug_dirs; /* --debug-dir DIR (repeatable) */
	size_t debug_dir_cnt;
	const char *mapping; /* R8's mapping.txt; NULL: none */
	const char *listen;  /* of serve */
	const char **files;  /* of symbolize, report and serve */
	size_t file_cnt;
	uint64_t since_ns; /* --since, as CLOCK_REALTIME; 0: not given */
	uint64_t until_ns; /* --until, likewise */
	struct sink *sink; /* replay: gets the records, in place of stdout; borrowed. NULL: none */
	const char **disabled; /* --disable-feature NAME, for tests (repeatable) */
	size_t disabled_cnt;
	const char *config;			       /* of agent: the configuration; with it: */
	bool check_config;			       /* only print what would run */
	const char *control;			       /* the control socket; NULL: none */
	const char *host_name;			       /* in records; NULL: that of uname */
	bool ask_status, ask_pause, ask_resume;	       /* talk to the agent that runs */
	unsigned records_per_signature, records_per_s; /* 0: no limit */
	unsigned max_signatures;		       /* in the metrics */
	const char *metrics_listen;		       /* ADDRESS:PORT; NULL: no HTTP server */
	const char *metrics_textfile;		       /* NULL: none */
	const char *metrics_cert, *metrics_key;	       /* files; both NULL: no TLS */
	const char *metrics_user, *metrics_password;   /* with its file; both NULL: none */
	/* In jankbpf-deliver: what these files contain; borrowed. */
	const struct metrics_access *metrics_access;
	const char *spool;	  /* DIR; NULL: none */
	uint64_t spool_max;	  /* bytes */
	const char *records_user; /* of the processes that write and send; NULL: not given */
	struct backend_options sends[SEND_CNT];
	uint64_t send_timeout_ns; /* of the command send; 0: none */
	/* Of fleet; NULL: not given. */
	const char *fleet_unit, *fleet_process, *fleet_cluster;
	unsigned fleet_by;	 /* enum fleet_by */
	uint64_t older_ns;	 /* 0: not given */
	unsigned cpu_ppm;	 /* the budget: millionths of a core; 0: none */
	uint64_t cpu_recover_ns; /* time with room before the governor gives something back */
	struct override *overrides;
	size_t override_cnt;
	/* By row of the table: each argument that was given, with a newline; NULL: none. Owned. */
	char *values[OPTION_ROWS_MAX];
	char **texts; /* owned: words that came from the configuration */
	size_t text_cnt;
	char **words; /* the command line, to parse it again; borrowed */
	int word_cnt;
	int verbosity;	   /* -v minus -q */
	const char *topic; /* of CMD_HELP: a command's name; NULL: all of them */
	const char *shell; /* of CMD_COMPLETION: of completion_scripts */
};

/* True for the commands that trace and report blocks. */
static inline bool options__traces(const struct options *opts)
{
	return opts->command == CMD_TRACE || opts->command == CMD_TOP || opts->command == CMD_AGENT;
}

/* True for a question to the agent that runs. */
static inline bool options__asks(const struct options *opts)
{
	return opts->command == CMD_AGENT &&
	       (opts->ask_status || opts->ask_pause || opts->ask_resume);
}

/* True for `jankbpf top` on a terminal. */
static inline bool options__has_screen(const struct options *opts)
{
	return opts->command == CMD_TOP && !opts->batch;
}

/*
 * Parses a command line. Returns 0, or -EINVAL with a message and JANK_EXIT_USAGE. Sets defaults
 * for options that are not given. On success the caller frees ret with options__free.
 */
int options__parse(int argc, char **argv, struct options *ret, struct err *err);
void options__free(struct options *opts);

/* Printers on stdout. The topic is a command's name, or NULL for all. */
void options__print_help(const char *topic);
void options__print_version(void);
bool options__print_completion(const char *shell); /* false: the shell is not known */

#endif
