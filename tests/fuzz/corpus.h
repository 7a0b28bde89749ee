/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inputs that are whole files: first those of tests/fuzz/corpus/NAME, unchanged, then damaged ones.
 * An input that takes a new path through the code (cover.h) is damaged further. The input of a
 * finding is left in $FUZZ_KEEP, or /tmp.
 *
 * 	struct corpus c = corpus__load("elf", 100);
 * 	while (corpus__next(&c))
 * 		use(c.bytes, c.len);
 */
#ifndef JANK_FUZZ_CORPUS_H
#define JANK_FUZZ_CORPUS_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "tests/fuzz/cover.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define CORPUS_MAX	4096
#define CORPUS_INPUT_SZ (128 << 10)
#define CORPUS_KEPT_SZ	(16 << 10) /* longer inputs are not damaged further */
#define CORPUS_REPEATS	64	   /* one input in so many is long */
#define CORPUS_SECONDS	10	   /* CPU seconds for one input: more is a hang */

struct corpus_input {
	unsigned char *bytes;
	size_t len;
};

struct corpus {
	struct fuzz fuzz;
	const char *name;
	struct corpus_input inputs[CORPUS_MAX];
	size_t cnt, seeds;
	/* Of this round, in a buffer of exactly len: the sanitizer catches a read beyond. */
	unsigned char *bytes;
	size_t len;
	/* A mutator that knows the format; it may use all CORPUS_INPUT_SZ bytes. NULL: none. */
	void (*damage)(struct fuzz *f, unsigned char *bytes, size_t *len);
	const char *const *words; /* words of the format, NULL at the end; or NULL */
	size_t seed_edges;
};

static struct corpus *corpus_now;

void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static inline void corpus__keep(const struct corpus *c, const char *dir, const char *what)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s-%s-%llu", dir, c->name, what,
		 (unsigned long long)c->fuzz.round);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, c->bytes, c->len) < 0)
		diag("%s: cannot write it", path);
	close(fd);
}

static inline void corpus__died(void)
{
	const char *dir = getenv("FUZZ_KEEP");

	if (corpus_now && corpus_now->bytes)
		corpus__keep(corpus_now, dir && *dir ? dir : "/tmp", "finding");
}

static inline void corpus__hangs(int sig)
{
	corpus__died();
	abort();
}

/* 0 seconds: no alarm. */
static inline void corpus__alarm(int seconds)
{
	struct itimerval timer = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &timer, NULL);
}

static inline void corpus__add(struct corpus *c, const void *bytes, size_t len)
{
	struct corpus_input *in = &c->inputs[c->cnt];

	if (c->cnt == CORPUS_MAX || !len || len > CORPUS_INPUT_SZ || !(in->bytes = malloc(len)))
		return;
	memcpy(in->bytes, bytes, len);
	in->len = len;
	c->cnt++;
}

static inline void corpus__add_file(struct corpus *c, const char *dir, const char *name)
{
	char path[512];
	unsigned char *buf = malloc(CORPUS_INPUT_SZ);
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (buf && file && name[0] != '.')
		corpus__add(c, buf, fread(buf, 1, CORPUS_INPUT_SZ, file));
	if (file)
		fclose(file);
	free(buf);
}

static inline void corpus__add_dir(struct corpus *c, const char *dir)
{
	struct dirent **entries;
	int cnt = scandir(dir, &entries, NULL, alphasort);

	for (int i = 0; i < cnt; i++) {
		corpus__add_file(c, dir, entries[i]->d_name);
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
}

/* Relative to the checkout, where make runs the tests. per_byte: the bound on the cost. */
static inline struct corpus *corpus__load(const char *name, unsigned per_byte)
{
	struct corpus *c = calloc(1, sizeof(*c));
	char dir[256];

	if (!c)
		abort();
	snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", name);
	c->fuzz = fuzz__begin(per_byte);
	c->name = name;
	corpus__add_dir(c, dir);
	if (!c->cnt)
		skip_all("%s is not here", dir);
	corpus_now = c;
	signal(SIGPROF, corpus__hangs);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(corpus__died);
	return c;
}

/* Moves everything after `from` to `to`, as far as there is room. */
static inline void corpus__move(struct corpus *c, size_t to, size_t from)
{
	size_t tail = c->len - from;

	if (to + tail > CORPUS_INPUT_SZ)
		tail = CORPUS_INPUT_SZ - to;
	memmove(c->bytes + to, c->bytes + from, tail);
	c->len = to + tail;
}

/* Puts len bytes at a random place, inserted or over what is there. */
static inline void corpus__put(struct corpus *c, const void *bytes, size_t len)
{
	size_t at = fuzz__below(&c->fuzz, c->len + 1);

	if (at + len > CORPUS_INPUT_SZ)
		return;
	if (fuzz__chance(&c->fuzz, 2) || at + len > c->len)
		corpus__move(c, at + len, at);
	memcpy(c->bytes + at, bytes, len);
}

static inline void corpus__put_word(struct corpus *c)
{
	const char *word;
	char number[32];
	size_t cnt = 0;

	while (c->words && c->words[cnt])
		cnt++;
	if (cnt && fuzz__chance(&c->fuzz, 2)) {
		word = c->words[fuzz__below(&c->fuzz, cnt)];
	} else {
		snprintf(number, sizeof(number), fuzz__chance(&c->fuzz, 2) ? "%llx" : "%llu",
			 (unsigned long long)fuzz__number(&c->fuzz));
		word = number;
	}
	corpus__put(c, word, strlen(word));
}

/* A part of this input, or of another. */
static inline void corpus__splice(struct corpus *c)
{
	const struct corpus_input *in = &c->inputs[fuzz__below(&c->fuzz, c->cnt)];
	unsigned char piece[512];
	size_t at = fuzz__below(&c->fuzz, in->len), len = in->len - at;

	if (len > sizeof(piece))
		len = sizeof(piece);
	len = fuzz__below(&c->fuzz, len) + 1;
	memcpy(piece, in->bytes + at, len);
	corpus__put(c, piece, len);
}

/* Repeats a part as often as there is room: a reader that is not linear shows it. */
static inline void corpus__repeat(struct corpus *c)
{
	size_t from = fuzz__below(&c->fuzz, c->len), len = fuzz__below(&c->fuzz, c->len - from) + 1;
	size_t tail = c->len - from - len, room = CORPUS_INPUT_SZ - c->len, at = from + len;

	room -= room % len;
	memmove(c->bytes + at + room, c->bytes + at, tail);
	for (size_t end = at + room; at < end; at++)
		c->bytes[at] = c->bytes[at - len];
	c->len += room;
}

static inline void corpus__damage_once(struct corpus *c)
{
	struct fuzz *f = &c->fuzz;
	size_t from = fuzz__below(f, c->len + 1);

	switch (fuzz__below(f, c->words ? 12 : 9)) {
	case 0:
		corpus__splice(c);
		break;
	case 1:
		corpus__move(c, fuzz__below(f, from + 1), from);
		break;
	case 2:
		if (fuzz__chance(f, 4))
			c->len = from;
		break;
	case 3:
	case 4:
	case 5:
		if (c->damage && c->len) {
			c->damage(f, c->bytes, &c->len);
			break;
		} /* fall through */
	case 6:
	case 7:
	case 8:
		if (c->len)
			fuzz__damage(f, c->bytes, c->len);
		break;
	default:
		corpus__put_word(c);
	}
}

/* Keeps a new input: in memory, and in $FUZZ_KEEP. */
static inline void corpus__judge(struct corpus *c)
{
	const char *dir = getenv("FUZZ_KEEP");

	if (!cost__end(&c->fuzz.cost, c->len))
		corpus__keep(c, dir && *dir ? dir : "/tmp", "cost");
	if (c->fuzz.round <= c->seeds) {
		cover__end();
		c->seed_edges = cover.edges;
	} else if (cover__end() && c->len <= CORPUS_KEPT_SZ) {
		corpus__add(c, c->bytes, c->len);
		if (dir && *dir)
			corpus__keep(c, dir, "new");
	}
}

static inline void corpus__make(struct corpus *c)
{
	bool is_seed = c->fuzz.round <= c->seeds;
	size_t nr = is_seed ? c->fuzz.round - 1 : fuzz__below(&c->fuzz, c->cnt);
	size_t damages = 0;
	unsigned char *exact;

	c->bytes = malloc(CORPUS_INPUT_SZ);
	if (!c->bytes)
		abort();
	c->len = c->inputs[nr].len;
	memcpy(c->bytes, c->inputs[nr].bytes, c->len);
	if (!is_seed)
		damages = fuzz__chance(&c->fuzz, 2) ? 1 : fuzz__below(&c->fuzz, 8) + 1;
	if (damages && c->len && fuzz__chance(&c->fuzz, CORPUS_REPEATS))
		corpus__repeat(c);
	for (; damages; damages--)
		corpus__damage_once(c);
	exact = realloc(c->bytes, c->len ? c->len : 1);
	if (!exact)
		abort();
	c->bytes = exact;
}

/* The next input, in bytes and len; false when the time is over and the whole corpus was used. */
static inline bool corpus__next(struct corpus *c)
{
	bool on;

	corpus__alarm(0);
	if (c->fuzz.round)
		corpus__judge(c);
	else
		c->seeds = c->cnt;
	free(c->bytes);
	c->bytes = NULL;
	on = fuzz__goes_on(&c->fuzz) || (c->fuzz.round <= c->seeds && !c->fuzz.cost.exceeded);
	if (!on)
		return false;
	corpus__make(c);
	corpus__alarm(CORPUS_SECONDS);
	cover__begin();
	cost__begin(&c->fuzz.cost);
	return true;
}

/* Judges the cost, prints what was done, and frees it. */
static inline void corpus__end(struct corpus *c)
{
	cost__ok(&c->fuzz.cost);
	diag("%s: %llu inputs in %.0f s of CPU", c->name, (unsigned long long)c->fuzz.round - 1,
	     (cost__cpu_ns() - c->fuzz.begin_ns) / (double)NS_PER_SEC);
	if (cover.edges)
		diag("of %zu files %zu edges, at the end of %zu %zu", c->seeds, c->seed_edges,
		     c->cnt, cover.edges);
	corpus_now = NULL;
	for (size_t i = 0; i < c->cnt; i++)
		free(c->inputs[i].bytes);
	free(c);
}

#endif
