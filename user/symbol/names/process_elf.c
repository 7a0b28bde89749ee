/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a process's mappings as ELF files. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "files/file.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/names/process.h"

static int read_debug_elf(const struct debugfile_places *places, const struct elf *elf,
			  process_elf_fn fn, void *ctx)
{
	int fd = debugfile__open(elf, places), res;
	struct elf debug;
	struct image img;

	if (fd < 0)
		return fd;
	res = image__of_fd(&img, fd);
	if (!res)
		res = elf__open(&debug, &img);
	if (!res) {
		res = fn(ctx, &debug);
		elf__close(&debug);
	}
	close(fd);
	return res;
}

int process__read_elf(struct process_env *env, const struct process *process,
		      const struct region *region, process_elf_fn fn, void *ctx, uint64_t *ret_bias)
{
	int fd = process__open(env, process, region->mapped), res;
	struct debugfile_places places;
	char root[PATH_MAX];
	struct image img;
	struct elf elf;

	if (fd < 0)
		return fd;
	res = module__image(region->mapped->module, fd, &img);
	if (!res)
		res = elf__open(&elf, &img);
	if (!res) {
		res = elf__vaddr(elf.loads, elf.load_cnt, region->offset, ret_bias);
		*ret_bias = region->start - *ret_bias;
		if (!res)
			res = fn(ctx, &elf);
		if (res == -ENODATA) {
			places = process__places(env, process, region->mapped, root);
			res = read_debug_elf(&places, &elf, fn, ctx);
		}
		elf__close(&elf);
	}
	close(fd);
	return res;
}
