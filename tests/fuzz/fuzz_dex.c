/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged DEX files of all forms: whatever they say, a method's code is inside the file, nothing
 * is read beyond it, memory is bounded, and so is the work.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/dex_image.h"

#define RUNS_MAX 65536

static struct {
	struct fuzz fuzz;
	uint64_t opened, found, named, lines;
	const char *broken;
} run;

static void use_method(const struct dex *dex, struct dex_bytes *bytes, const struct dex_method *m)
{
	char name[DEX_NAME_MAX], file[DEX_FILE_MAX];

	run.found++;
	if (m->unit >= m->unit_cnt ||
	    dex->data + m->insns + 2 * (uint64_t)m->unit_cnt > dex->base + dex->size)
		run.broken = "code outside of the file";
	memset(name, 'x', sizeof(name));
	memset(file, 'x', sizeof(file));
	run.named += dex_method__name(dex, bytes, m, name);
	dex_method__file(dex, bytes, m, file);
	if (!memchr(name, 0, sizeof(name)) || !memchr(file, 0, sizeof(file)))
		run.broken = "a name without an end";
	run.lines += dex_method__line(dex, bytes, m) != 0;
}

static void use(struct dex_bytes *bytes, uint64_t at, uint64_t len, uint64_t *ret_next)
{
	struct dex_method method;
	struct dex dex;

	*ret_next = 0;
	bytes->windows[0].len = bytes->windows[1].len = 0;
	if (dex__open(&dex, bytes, at))
		return;
	run.opened++;
	if (dex__index(&dex, bytes))
		run.broken = "no index";
	if (dex.run_cnt > RUNS_MAX)
		run.broken = "unbounded memory";
	for (unsigned i = 0; i < 4; i++) {
		uint64_t where = fuzz__below(&run.fuzz, len + 16);

		if (dex.run_cnt && fuzz__chance(&run.fuzz, 2))
			where = dex.data + 16 + dex.runs[fuzz__below(&run.fuzz, dex.run_cnt)].code;
		if (dex__find(&dex, bytes, where, &method))
			use_method(&dex, bytes, &method);
	}
	*ret_next = dex.next;
	dex__free(&dex);
}

/* A buffer of exactly the stated size, so that the sanitizer catches a byte too much. */
static void round_of(const struct dex_image *im)
{
	size_t len = fuzz__chance(&run.fuzz, 8) ? fuzz__below(&run.fuzz, im->len) + 1 : im->len;
	uint8_t *copy = malloc(len);
	struct dex_memory memory = { copy, len };
	struct dex_bytes bytes = { .read = dex_memory__read, .ctx = &memory };
	uint64_t next = 0;

	if (!copy)
		abort();
	memcpy(copy, im->bytes, len);
	for (size_t i = fuzz__below(&run.fuzz, 6); i; i--)
		fuzz__damage(&run.fuzz, copy, fuzz__chance(&run.fuzz, 2) && len > 300 ? 300 : len);
	cost__begin(&run.fuzz.cost);
	use(&bytes, im->begin[fuzz__below(&run.fuzz, 2)], len, &next);
	if (next)
		use(&bytes, next, len, &next);
	cost__end(&run.fuzz.cost, len);
	free(copy);
}

int main(void)
{
	static struct dex_image images[3];

	for (unsigned i = 0; i < 3; i++)
		dex_image__make_two(&images[i], i);
	/* Classes may share their data: the bound is the number of methods that a file may have. */
	run.fuzz = fuzz__begin(1000);
	while (fuzz__goes_on(&run.fuzz) && !run.broken)
		round_of(&images[fuzz__below(&run.fuzz, 3)]);
	fuzz__ok(&run.fuzz, run.broken);
	ok(run.named && run.lines,
	   "%llu files were opened, %llu methods found, %llu names, %llu lines",
	   (unsigned long long)run.opened, (unsigned long long)run.found,
	   (unsigned long long)run.named, (unsigned long long)run.lines);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
