/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Setters of the options: each checks its argument and stores it at the offset of its row. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "bpf/jank_abi.h"
#include "options/options_table.h"
#include "procfs/procinfo.h"

#define DISABLED_MAX  64
#define LOOP_FILE_MAX 32
#define DEBUG_DIR_MAX 32
#define LOOP_MAX      64
#define SHARDS_MAX    1024
#define PATTERN_MAX   32 /* each is compared with each frame */

typedef int parse_fn(const char *str, const char *option, uint64_t min, uint64_t max, uint64_t *ret,
		     struct err *err);

static void *field(struct options *opts, const struct option_row *row)
{
	return (char *)opts + row->offset;
}

static int no_memory(struct err *err)
{
	return err__set(err, ENOMEM, "out of memory");
}

static int parse_range(parse_fn *parse, const struct option_row *row, const char *arg,
		       uint64_t *ret, struct err *err)
{
	char word[32];

	snprintf(word, sizeof(word), "--%s", row->name);
	if (row->zero && !parse(arg, word, 0, 0, ret, NULL))
		return 0;
	return parse(arg, word, row->min, row->max, ret, err);
}

int option__set_time(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	return parse_range(parse__time, row, arg, field(opts, row), err);
}

int option__set_long_time(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err)
{
	return parse_range(parse__long_time, row, arg, field(opts, row), err);
}

int option__set_size(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	return parse_range(parse__size, row, arg, field(opts, row), err);
}

int option__set_count(struct options *opts, const struct option_row *row, const char *arg,
		      struct err *err)
{
	return parse_range(parse__u64, row, arg, field(opts, row), err);
}

int option__set_unsigned(struct options *opts, const struct option_row *row, const char *arg,
			 struct err *err)
{
	uint64_t v;
	int code = parse_range(parse__u64, row, arg, &v, err);

	if (!code)
		*(unsigned *)field(opts, row) = v;
	return code;
}

int option__set_flag(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	*(bool *)field(opts, row) = true;
	return 0;
}

int option__set_json(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	opts->format = FORMAT_JSON;
	return 0;
}

int option__set_verbosity(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err)
{
	opts->verbosity += row->value;
	return 0;
}

int option__set_command(struct options *opts, const struct option_row *row, const char *arg,
			struct err *err)
{
	opts->command = row->value;
	return 0;
}

static bool has_control(const char *str)
{
	for (; *str; str++)
		if ((unsigned char)*str < ' ' || *str == 0x7f)
			return true;
	return false;
}

/*
 * Stores a path or a name. It goes into line-based files, so control characters are refused; so is
 * an empty text.
 */
int option__set_text(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	if (!*arg || has_control(arg))
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--%s %s: give %s", row->name,
				     *arg ? "has control characters" : "is empty", row->arg);
	*(const char **)field(opts, row) = arg;
	return 0;
}

int option__set_signature(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err)
{
	size_t len = strspn(arg, "0123456789abcdef");

	if (!len || arg[len] || len > 16)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--%s '%s': not a signature; give the 16 digits of 0-9 and "
				     "a-f beside a block, or the first of them",
				     row->name, arg);
	*(const char **)field(opts, row) = arg;
	return 0;
}

/* Returns the index of word in "WORD|WORD|WORD", or -1. */
static int index_of(const char *words, const char *word)
{
	size_t len = strlen(word), at;

	for (int i = 0;; i++, words += at + 1) {
		at = strcspn(words, "|");
		if (at == len && !memcmp(words, word, len))
			return i;
		if (!words[at])
			return -1;
	}
}

/* "WORD, WORD or WORD" */
static void add_words(struct strbuf *sb, const char *words)
{
	const char *last = strrchr(words, '|');

	for (; *words; words++)
		if (*words != '|')
			strbuf__addc(sb, *words);
		else
			strbuf__add(sb, words == last ? " or " : ", ", words == last ? 4 : 2);
}

/* "; did you mean 'WORD'?" with the nearest of words, if one is near */
static void add_meant(struct strbuf *sb, const char *words, const char *word)
{
	struct nearest near;

	nearest__init(&near, word, strlen(word));
	for (size_t len; *words; words += len + (words[len] == '|')) {
		len = strcspn(words, "|");
		nearest__offer(&near, words, len);
	}
	if (near.best)
		strbuf__addf(sb, "; did you mean '%.*s'?", (int)near.best_len, near.best);
}

/* Finds a word of the row's argument. Returns its index, or -EINVAL with a message. */
static int find_word(const struct option_row *row, const char *word, struct err *err)
{
	struct strbuf shown = STRBUF_INIT, words = STRBUF_INIT;
	int nr = index_of(row->arg, word);

	if (nr >= 0)
		return nr;
	text__add_clean(&shown, word);
	add_words(&words, row->arg);
	add_meant(&words, row->arg, word);
	nr = err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--%s '%.60s': give %s", row->name,
			   strbuf__str(&shown), strbuf__str(&words));
	strbuf__free(&words);
	strbuf__free(&shown);
	return nr;
}

/* Stores the index of one of the words of the row's argument in an enum. */
int option__set_word(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	int nr = find_word(row, arg, err);

	if (nr < 0)
		return nr;
	*(unsigned *)field(opts, row) = nr;
	return 0;
}

/* Sets a bit for each of the words of the argument, which are separated by commas. */
int option__set_words(struct options *opts, const struct option_row *row, const char *arg,
		      struct err *err)
{
	char *words = strdup(arg), *rest = words, *word;
	int nr = words ? 0 : no_memory(err);

	while (nr >= 0 && (word = strsep(&rest, ","))) {
		nr = find_word(row, word, err);
		if (nr >= 0)
			*(unsigned *)field(opts, row) |= 1u << nr;
	}
	free(words);
	return nr < 0 ? nr : 0;
}

static bool has_pid(const struct options *opts, pid_t pid)
{
	for (size_t i = 0; i < opts->pid_cnt; i++)
		if (opts->pids[i] == pid)
			return true;
	return false;
}

static int add_pid(struct options *opts, pid_t pid, struct err *err)
{
	pid_t *pids;

	if (has_pid(opts, pid))
		return 0;
	if (opts->pid_cnt == JANK_TGID_MAX)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--pid: at most %d processes at once", JANK_TGID_MAX);
	pids = reallocarray(opts->pids, opts->pid_cnt + 1, sizeof(*pids));
	if (!pids)
		return no_memory(err);
	pids[opts->pid_cnt++] = pid;
	opts->pids = pids;
	return 0;
}

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_-.";

static int parse_pid(const struct option_row *row, const char *word, uint64_t *ret, struct err *err)
{
	size_t len = strlen(word);

	if (isalpha((unsigned char)*word) && strspn(word, name_bytes) == len)
		return procname__find(word, ret, err);
	return parse_range(parse__u64, row, word, ret, err);
}

static int add_pids(struct options *opts, const struct option_row *row, char *list, struct err *err)
{
	char *word;
	int code = 0;

	while (!code && (word = strsep(&list, ","))) {
		uint64_t pid;

		code = parse_pid(row, word, &pid, err) ?: add_pid(opts, pid, err);
	}
	return code;
}

/* Pids separated by commas, blanks or newlines, as pidof(1) and pgrep(1) print them. */
int option__set_pids(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	static const char blanks[] = " \t\r\n";
	char *copy = strdup(arg), *rest = NULL, *list;
	int code = 0;

	if (!copy)
		return no_memory(err);
	list = strtok_r(copy, blanks, &rest);
	if (!list)
		code = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--pid is empty: no process was found");
	for (; !code && list; list = strtok_r(NULL, blanks, &rest))
		code = add_pids(opts, row, list, err);
	free(copy);
	return code;
}

int option__set_all(struct options *opts, const struct option_row *row, const char *arg,
		    struct err *err)
{
	opts->filter.all = true;
	return 0;
}

int option__set_main_thread(struct options *opts, const struct option_row *row, const char *arg,
			    struct err *err)
{
	opts->filter.main_thread = true;
	return 0;
}

int option__set_comm(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	return filter__add_comm(&opts->filter, arg, err);
}

int option__set_uid(struct options *opts, const struct option_row *row, const char *arg,
		    struct err *err)
{
	return filter__add_uid(&opts->filter, arg, err);
}

int option__set_cgroup(struct options *opts, const struct option_row *row, const char *arg,
		       struct err *err)
{
	opts->filter.waits = opts->command == CMD_AGENT;
	return filter__add_cgroup(&opts->filter, arg, err);
}

static bool has_loop(const struct options *opts, const char *name)
{
	for (size_t i = 0; i < opts->loop_cnt; i++)
		if (!strcmp(opts->loops[i], name))
			return true;
	return false;
}

static int add_loop(struct options *opts, const char *name, struct err *err)
{
	char **loops;

	if (has_loop(opts, name))
		return 0;
	if (!*name || has_control(name))
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--loop: a name is %s; `jankbpf loops` lists them",
				     *name ? "none that a loop can have" : "empty");
	if (opts->loop_cnt == LOOP_MAX)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--loop: at most %d", LOOP_MAX);
	loops = reallocarray(opts->loops, opts->loop_cnt + 1, sizeof(*loops));
	if (!loops)
		return no_memory(err);
	opts->loops = loops;
	loops[opts->loop_cnt] = strdup(name);
	if (!loops[opts->loop_cnt])
		return no_memory(err);
	opts->loop_cnt++;
	return 0;
}

/* The names are checked later, when the loop files are read. */
int option__set_loops(struct options *opts, const struct option_row *row, const char *arg,
		      struct err *err)
{
	char *list = strdup(arg), *rest = list, *word;
	int code = list ? 0 : no_memory(err);

	while (!code && (word = strsep(&rest, ",")))
		code = add_loop(opts, word, err);
	free(list);
	return code;
}

/* Appends a word unchanged; main's argv owns the words. */
static int add_word(const char ***words, size_t *cnt, size_t max, const struct option_row *row,
		    const char *word, struct err *err)
{
	const char **longer;

	if (*cnt == max)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--%s: at most %zu", row->name,
				     max);
	longer = reallocarray(*words, *cnt + 1, sizeof(*longer));
	if (!longer)
		return no_memory(err);
	longer[(*cnt)++] = word;
	*words = longer;
	return 0;
}

static int add_pattern(const char ***words, size_t *cnt, const struct option_row *row,
		       const char *word, struct err *err)
{
	if (!*word)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--%s is empty: give %s",
				     row->name, row->arg);
	return add_word(words, cnt, PATTERN_MAX, row, word, err);
}

int option__set_disabled(struct options *opts, const struct option_row *row, const char *arg,
			 struct err *err)
{
	return add_word(&opts->disabled, &opts->disabled_cnt, DISABLED_MAX, row, arg, err);
}

int option__set_loop_file(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err)
{
	return add_word(&opts->loop_files, &opts->loop_file_cnt, LOOP_FILE_MAX, row, arg, err);
}

int option__set_debug_dir(struct options *opts, const struct option_row *row, const char *arg,
			  struct err *err)
{
	return add_word(&opts->debug_dirs, &opts->debug_dir_cnt, DEBUG_DIR_MAX, row, arg, err);
}

int option__set_concern(struct options *opts, const struct option_row *row, const char *arg,
			struct err *err)
{
	return add_pattern(&opts->concern, &opts->concern_cnt, row, arg, err);
}

int option__set_ignore(struct options *opts, const struct option_row *row, const char *arg,
		       struct err *err)
{
	return add_pattern(&opts->ignore, &opts->ignore_cnt, row, arg, err);
}

static bool is_address(const char *arg)
{
	struct sockaddr_storage address;
	socklen_t len;

	return !parse__address(arg, &address, &len);
}

/* NULL for "off". */
int option__set_listen(struct options *opts, const struct option_row *row, const char *arg,
		       struct err *err)
{
	struct strbuf shown = STRBUF_INIT;
	int code = 0;

	if (!strcmp(arg, "off")) {
		*(const char **)field(opts, row) = NULL;
	} else if (is_address(arg)) {
		*(const char **)field(opts, row) = arg;
	} else {
		text__add_clean(&shown, arg);
		code = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--%s '%.60s': give ADDRESS:PORT with numbers, as in "
				     "127.0.0.1:9435 or [::1]:9435, or off",
				     row->name, strbuf__str(&shown));
		strbuf__free(&shown);
	}
	return code;
}

/* Basic authentication separates user and password by the first colon. */
int option__set_metrics_user(struct options *opts, const struct option_row *row, const char *arg,
			     struct err *err)
{
	if (strchr(arg, ':'))
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--%s: a user has no colon; the password is in the FILE of "
				     "--metrics-password-file",
				     row->name);
	return option__set_text(opts, row, arg, err);
}

/* NULL, or what is wrong with a list of URLs. */
static const char *fault_of_urls(const char *at)
{
	if (has_control(at))
		return "has control characters";
	at += strspn(at, " ");
	if (!*at)
		return "is empty";
	for (; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		size_t scheme = !strncmp(at, "http://", 7)    ? 7
				: !strncmp(at, "https://", 8) ? 8
							      : 0;

		if (!scheme || len == scheme)
			return "is not http://HOST:PORT or https://HOST:PORT";
		if (memchr(at, '@', len))
			return "has a user: use the options for user, password and token";
		if (memchr(at, '?', len) || memchr(at, '#', len))
			return "has a query: give it up to the path";
		at += len;
	}
	return NULL;
}

int option__set_urls(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	struct backend_options *to = field(opts, row);
	const char *fault = to->url_cnt < SHARDS_MAX ? fault_of_urls(arg) : "is given too often";
	const char **urls;

	if (fault)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--%s %s: give a URL such as http://127.0.0.1:8123, or those "
				     "of replicas with blanks between them",
				     row->name, fault);
	urls = reallocarray(to->urls, to->url_cnt + 1, sizeof(*urls));
	if (!urls)
		return no_memory(err);
	urls[to->url_cnt++] = arg;
	to->urls = urls;
	return 0;
}

/* "1%", "0.5 %" or off, as millionths. */
int option__set_percent(struct options *opts, const struct option_row *row, const char *arg,
			struct err *err)
{
	char *end;
	double value = strtod(arg, &end);
	struct strbuf shown = STRBUF_INIT;
	bool off = !strcmp(arg, "off");

	end += strspn(end, " ");
	if (off || (end != arg && *end == '%' && !end[1] && value * 1e4 >= (double)row->min &&
		    value * 1e4 <= (double)row->max)) {
		*(unsigned *)field(opts, row) = off ? 0 : (unsigned)(value * 1e4 + 0.5);
		return 0;
	}
	text__add_clean(&shown, arg);
	err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
		      "--%s '%.60s': give a share of one core from %g%% to %g%%, as in 1%%, or off",
		      row->name, strbuf__str(&shown), (double)row->min / 1e4,
		      (double)row->max / 1e4);
	strbuf__free(&shown);
	return -EINVAL;
}

/* An absolute path, or off: the agent runs in any directory. */
int option__set_path(struct options *opts, const struct option_row *row, const char *arg,
		     struct err *err)
{
	struct strbuf shown = STRBUF_INIT;
	bool off = !strcmp(arg, "off");

	if (off || *arg == '/') {
		*(const char **)field(opts, row) = off ? NULL : arg;
		return 0;
	}
	text__add_clean(&shown, arg);
	err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "--%s '%.60s': give a path from /, or off",
		      row->name, strbuf__str(&shown));
	strbuf__free(&shown);
	return -EINVAL;
}

bool option__is_repeatable(const struct option_row *row)
{
	option_set_fn *const adding[] = {
		option__set_pids,      option__set_comm,      option__set_uid,
		option__set_cgroup,    option__set_loops,     option__set_loop_file,
		option__set_debug_dir, option__set_disabled,  option__set_concern,
		option__set_ignore,    option__set_verbosity, option__set_urls,
	};

	for (size_t i = 0; i < sizeof(adding) / sizeof(*adding); i++)
		if (row->set == adding[i])
			return true;
	return false;
}

int option__set_since(struct options *opts, const struct option_row *row, const char *arg,
		      struct err *err)
{
	char word[32];

	snprintf(word, sizeof(word), "--%s", row->name);
	return parse__moment(arg, word, clock__real_ns(), field(opts, row), err);
}

int options__add_file(struct options *opts, const char *word, struct err *err)
{
	const char **files = realloc(opts->files, (opts->file_cnt + 1) * sizeof(*files));

	if (!files)
		return err__set(err, ENOMEM, "out of memory");
	files[opts->file_cnt++] = word;
	opts->files = files;
	return 0;
}

int options__set_defaults(struct options *opts, struct err *err)
{
	for (const struct option_row *row = option_rows; row < option_rows + option_row_cnt;
	     row++) {
		int code = row->def ? row->set(opts, row, row->def, err) : 0;

		if (code)
			return code;
	}
	return 0;
}
