/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged archives: a found entry contains the requested offset. */
#include <sys/mman.h>

#include "files/zip.h"
#include "tests/fuzz/corpus.h"

static const char *const words[] = { "PK\1\2", "PK\3\4", "PK\5\6", "lib/x86_64/liba.so", NULL };

static struct {
	uint64_t found;
	const char *broken;
	int fd;
} run;

static void look(uint64_t offset)
{
	struct zip_entry entry;

	if (zip_entry__at(run.fd, offset, &entry))
		return;
	run.found++;
	if (offset < entry.offset || offset - entry.offset >= entry.size)
		run.broken = "an entry elsewhere";
	if (strnlen(entry.name, sizeof(entry.name)) == sizeof(entry.name))
		run.broken = "a name without an end";
}

/* Decompresses each of its members. */
static void list(void)
{
	struct zip_directory dir;
	struct zip_member member;
	uint8_t head[512];
	size_t at = 0;
	int more, file;

	if (zip_directory__read(&dir, run.fd))
		return;
	for (unsigned i = 0; i < 64 && (more = zip_directory__next(&dir, &at, &member)); i++) {
		if (at > dir.len)
			run.broken = "a place beyond the directory";
		if (more < 0 || !member.deflated)
			continue;
		if (zip_unpack__head(run.fd, &member, head, sizeof(head)) > (int)sizeof(head))
			run.broken = "more than the limit";
		file = zip_unpack__file(run.fd, &member, 1 << 16);
		if (file < 0)
			continue;
		if (lseek(file, 0, SEEK_END) != (off_t)member.size)
			run.broken = "a file of another size";
		close(file);
	}
	zip_directory__free(&dir);
}

int main(void)
{
	struct corpus *c = corpus__load("zip", 80);

	c->words = words;
	run.fd = memfd_create("zip", MFD_CLOEXEC);
	while (corpus__next(c) && !run.broken) {
		if (ftruncate(run.fd, 0) || pwrite(run.fd, c->bytes, c->len, 0) != (ssize_t)c->len)
			abort();
		list();
		for (size_t i = 0; i < 8; i++)
			look(i < 6 ? fuzz__below(&c->fuzz, c->len + 64) : fuzz__number(&c->fuzz));
	}
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.found > 0, "%llu entries were found", (unsigned long long)run.found);
	corpus__end(c);
	close(run.fd);
	return tap__done();
}
