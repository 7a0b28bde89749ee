/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the bytes of a DEX file come from. See art.h. */
#include "symbol/languages/art.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "files/proc.h"
#include "files/zip.h"
#include "symbol/elf/mapped_file.h"
#include "symbol/languages/target_memory.h"
#include "symbol/modules/module.h"

#define GAP_MAX 4096 /* bytes before a header: of a .vdex, or alignment */

/* --- the mapping of an address */

struct search {
	uint64_t addr;
	struct art *art;
};

static int take_line(char *text, size_t len, uint64_t off, void *ctx)
{
	const struct search *search = ctx;
	struct art *art = search->art;
	struct proc_maps_line line;

	if (maps_line__parse(text, true, &line) != 1 || line.end <= search->addr)
		return 0;
	if (line.start > search->addr)
		return 1;
	art->source =
		(struct art_source){ line.start, line.end, line.offset, line.dev, line.inode };
	snprintf(art->path, sizeof(art->path), "%s", line.path);
	if (text__begins(line.path, "/dev/ashmem/"))
		art->source.inode = 0; /* a device, whose memory is not read by its file */
	return 1;
}

static bool find_source(struct art *art, uint64_t addr)
{
	struct search search = { addr, art };
	char path[PATH_MAX];

	art->source = (struct art_source){};
	snprintf(path, sizeof(path), "%s/%u/maps", art->reader->proc, art->reader->pid);
	maps_file__read(path, take_line, &search);
	return art->source.end;
}

/* --- its bytes */

/* Positions are addresses, as if the whole file were mapped around the mapping. */
static int64_t read_file(const struct art *art, uint64_t at, void *buf, size_t len)
{
	uint64_t off = at - art->source.start + art->source.offset;

	if (off >= art->image.size)
		return -ENODATA;
	if (len > art->image.size - off)
		len = art->image.size - off;
	return image__read(&art->image, off, buf, len) ?: (int64_t)len;
}

/* The next page may not be present. */
static int64_t read_memory(const struct art *art, uint64_t at, void *buf, size_t len)
{
	const struct target_memory *mem = art->reader->mem;
	size_t in_page = ART_PAGE - at % ART_PAGE;

	if (target_memory__read_large(mem, at, buf, len))
		return (int64_t)len;
	return target_memory__read_large(mem, at, buf, in_page) ? (int64_t)in_page : -EFAULT;
}

static int64_t read_window(void *ctx, uint64_t at, void *buf, size_t len)
{
	struct art *art = ctx;

	if (!art->windows_left)
		return -ETIME;
	art->windows_left--;
	return art->image.size ? read_file(art, at, buf, len) : read_memory(art, at, buf, len);
}

/* False: its memory is read instead. */
static bool open_file(struct art *art)
{
	struct mapped mapped = { .kind = MAPPED_FILE,
				 .start = art->source.start,
				 .end = art->source.end,
				 .dev = art->source.dev,
				 .inode = art->source.inode,
				 .path = "" /* by the mapping only, not by its name */ };
	struct stat st;
	int fd;

	modules__mark(&mapped);
	fd = mapped_file__open(art->reader->proc, art->reader->pid, &mapped, &st);
	if (fd < 0)
		return false;
	if (!image__of_fd(&art->image, fd))
		return true;
	close(fd);
	return false;
}

bool art_source__open(struct art *art, uint64_t addr, const struct art_source *known)
{
	art_source__close(art);
	art->windows.read = read_window;
	art->windows.ctx = art;
	if (known && known->end)
		art->source = *known;
	else if (!find_source(art, addr))
		return false;
	if (!art->source.inode || !open_file(art))
		art->image = (struct image){ .fd = -1 };
	return true;
}

void art_source__close(struct art *art)
{
	if (art->image.size)
		close(art->image.fd);
	art->image = (struct image){ .fd = -1 };
	art->windows.windows[0].len = art->windows.windows[1].len = 0;
}

/* --- a DEX file that no list has */

/* The files one behind the other from a position on, each aligned to 4 bytes. */
static uint64_t scan(struct art *art, uint64_t at, uint64_t addr)
{
	struct dex dex;

	for (unsigned i = 0; i < ART_DEX_CHAIN; i++) {
		uint64_t header = at;

		while (header < at + GAP_MAX && dex__open(&dex, &art->windows, header))
			header += 4;
		if (header >= at + GAP_MAX)
			return 0;
		if (addr >= dex.data && addr < dex.base + dex.size)
			return header;
		at = (header + dex__word(&art->windows, header + 32) + 3) & ~3ull;
	}
	return 0;
}

uint64_t art_source__header(struct art *art, uint64_t addr)
{
	const struct art_source *source = &art->source;
	uint64_t file_at = source->start - source->offset;
	struct zip_entry entry;

	if (!art->image.size)
		return scan(art, source->start, addr);
	if (!zip_entry__at(art->image.fd, addr - file_at, &entry))
		return scan(art, file_at + entry.offset, addr);
	return scan(art, file_at, addr);
}
