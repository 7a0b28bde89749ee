/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged jitdump files, read as they grow. */
#include <fcntl.h>
#include <stdio.h>

#include "symbol/languages/jit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define CODE	0x7f0000001000ull
#define DUMP_SZ (1 << 20)

static unsigned char bytes[DUMP_SZ];
static size_t len;

static void put(uint64_t value, size_t size)
{
	memcpy(bytes + len, &value, size);
	len += size;
}

static void put_head(uint32_t id, uint32_t size)
{
	put(id, 4);
	put(16 + size, 4);
	put(1, 8);
}

static void put_lines(uint64_t addr)
{
	put_head(2, 16 + 2 * 16 + 5 + 2);
	put(addr, 8);
	put(2, 8);
	put(addr, 8);
	put(7, 8);
	put(0x736a2e61, 5); /* "a.js" */
	put(addr + 8, 8);
	put(8, 8);
	put(0xff, 2);
}

static void put_code(uint64_t addr)
{
	put_head(0, 40 + 3 + 16);
	put(77, 8);
	put(addr, 8);
	put(addr, 8);
	put(16, 8);
	put(addr, 8);
	put(0x6e66, 3); /* "fn" */
	put(0, 8);
	put(0, 8);
}

static void put_move(uint64_t from, uint64_t to)
{
	put_head(1, 48);
	put(77, 8);
	put(to, 8);
	put(from, 8);
	put(to, 8);
	put(16, 8);
	put(from, 8);
}

static void make_dump(struct fuzz *fuzz)
{
	size_t size;

	len = 0;
	put(0x14a695444, 8);
	put(40, 8);
	put(0, 8);
	put(0, 8);
	put(0, 8);
	/* A long one shows a reader that is not linear. */
	size = fuzz__chance(fuzz, 128) ? DUMP_SZ - 256 : 1024;
	while (len < size) {
		uint64_t addr = CODE + 16 * fuzz__below(fuzz, size / 16);

		if (fuzz__chance(fuzz, 8))
			put_move(addr, CODE + 16 * fuzz__below(fuzz, size / 16));
		else if (fuzz__chance(fuzz, 2))
			put_lines(addr);
		else
			put_code(addr);
	}
}

static uint64_t read_all(struct jitdump *dump)
{
	uint64_t found = 0;
	char buf[64];

	for (uint64_t at = CODE; at < CODE + 1024; at += 9) {
		const struct symbol *sym = jitdump__find(dump, at);

		if (!sym)
			continue;
		found += names__get(&dump->names, sym->name, buf, sizeof(buf)) > 0;
		found += jitdump__line(dump, sym, at, buf, sizeof(buf)) > 0;
	}
	return found;
}

/* Written in two parts, and read after each. */
static uint64_t run(const char *path)
{
	size_t half = len / 2;
	struct jitdump dump;
	uint64_t found;
	int fd;

	unlink(path); /* not truncated to 0, which some file systems write to the disk at once */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, half) != (ssize_t)half)
		abort();
	jitdump__init(&dump);
	jitdump__open(&dump, fcntl(fd, F_DUPFD_CLOEXEC, 3), getuid(), "dump");
	jitdump__update(&dump);
	found = read_all(&dump);
	if (write(fd, bytes + half, len - half) != (ssize_t)(len - half))
		abort();
	dump.next_ns = 0; /* whatever the first half has cost */
	jitdump__update(&dump);
	found += read_all(&dump);
	jitdump__free(&dump);
	close(fd);
	return found;
}

int main(void)
{
	struct fuzz fuzz = fuzz__begin(20);
	uint64_t found = 0;

	scratch__init();
	while (fuzz__goes_on(&fuzz)) {
		make_dump(&fuzz);
		for (size_t i = fuzz__below(&fuzz, 6); i; i--)
			fuzz__damage(&fuzz, bytes, len);
		found += run(scratch__path("dump"));
		cost__end(&fuzz.cost, len);
	}
	ok(found > fuzz.round, "%llu damaged dumps were read", (unsigned long long)fuzz.round);
	cost__ok(&fuzz.cost);
	fuzz__report(&fuzz);
	return tap__done();
}
