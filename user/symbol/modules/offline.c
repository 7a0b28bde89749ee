/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules found by build id alone. See offline.h. */
#include "symbol/modules/offline.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/file.h"
#include "symbol/languages/runtime.h"
#include "symbol/modules/module.h"
#include "symbol/modules/offline_index.h"
#include "symbol/names/resolve.h"

/* --- the layout of a file, restored from the addresses of its sections */

#define PAGE 4096

static bool has_code(const struct module *module)
{
	for (size_t i = 0; i < module->load_cnt; i++)
		if (module->loads[i].exec)
			return true;
	return false;
}

static int by_address(const void *va, const void *vb)
{
	const struct elf_section *a = va, *b = vb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* The next offset from `from` on with the same position in its page as addr. */
static uint64_t place(uint64_t from, uint64_t addr)
{
	return from + ((addr - from) & (PAGE - 1));
}

static size_t restore(const struct elf *elf, struct elf_segment *loads)
{
	uint64_t end = 0;
	size_t cnt = 0;

	qsort(elf->sections, elf->section_cnt, sizeof(*elf->sections), by_address);
	for (size_t i = 0; i < elf->section_cnt && cnt < ELF_LOADS_MAX; i++) {
		const struct elf_section *sec = &elf->sections[i];

		if (!(sec->flags & SHF_ALLOC) || !sec->size || sec->flags & SHF_TLS)
			continue;
		end = place(end, sec->addr);
		if (sec->flags & SHF_EXECINSTR)
			loads[cnt++] = (struct elf_segment){ .offset = end,
							     .vaddr = sec->addr,
							     .file_size = sec->size,
							     .exec = true };
		end += sec->size;
	}
	return cnt;
}

/*
 * Gives a module without code (objcopy --only-keep-debug) the file offsets that its code sections
 * had. Linkers put each section at the next offset that equals its address within a page.
 */
static void offline_loads__restore(struct module *module, int fd)
{
	struct elf_segment *loads;
	struct image img;
	struct elf elf;

	if (has_code(module) || module__image(module, fd, &img) || elf__open(&elf, &img))
		return;
	loads = calloc(ELF_LOADS_MAX, sizeof(*loads));
	if (loads) {
		free(module->loads);
		module->loads = loads;
		module->load_cnt = restore(&elf, loads);
	}
	elf__close(&elf);
}

#define SYSTEM_DIR "/usr/lib/debug"

/* The files found for one build id. */
struct offline_build {
	UT_hash_handle hh;
	struct module *modules[PATHS_MAX];
	size_t cnt;
	char build_id[];
};

/* An archive that was searched, or is unreadable. */
struct offline_archive {
	UT_hash_handle hh;
	char path[];
};

struct offline {
	const char *const *dirs;
	size_t dir_cnt;
	struct build_files *index; /* of the directories */
	bool indexed;
	struct offline_archive *archives; /* named in records */
	struct err refused;
	struct offline_build *builds; /* build ids queried so far */
	struct process_env env;
	struct pool pool;
};

int offline__new(const char *const *dirs, size_t dir_cnt, struct offline **ret, struct err *err)
{
	struct offline *offline = calloc(1, sizeof(*offline));

	if (!offline)
		return err__set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < dir_cnt; i++) {
		if (!access(dirs[i], R_OK | X_OK))
			continue;
		free(offline);
		return err__set(err, errno, "cannot look for debug files in '%s': %s", dirs[i],
				strerror(errno));
	}
	offline->dirs = dirs;
	offline->dir_cnt = dir_cnt;
	*ret = offline;
	return 0;
}

void offline__free(struct offline *offline)
{
	struct offline_build *build, *next;
	struct offline_archive *archive, *after;

	if (!offline)
		return;
	HASH_ITER (hh, offline->archives, archive, after) {
		HASH_DEL(offline->archives, archive);
		free(archive);
	}
	HASH_ITER (hh, offline->builds, build, next) {
		HASH_DEL(offline->builds, build);
		while (build->cnt)
			module__put(&offline->env.modules, build->modules[--build->cnt]);
		free(build);
	}
	offline_index__free(&offline->index);
	modules__free(&offline->env.modules);
	pool__free(&offline->pool);
	free(offline);
}

static bool is_of(int fd, struct image_part part, const char *wanted)
{
	char build_id[BUILD_ID_HEX_SZ];

	return offline_index__build_id(fd, part, build_id) && !strcmp(build_id, wanted);
}

/* Opens the file, or records why an existing library cannot be unpacked. */
static int open_file(struct offline *offline, const struct build_file *file, struct stat *st,
		     struct image_part *part)
{
	int fd = offline_index__open(file, st, part);

	if (fd == -EFBIG)
		err__set(&offline->refused, EFBIG,
			 "%s: %s is skipped: it is larger than %u MiB unpacked", file->path,
			 file->member->name, OFFLINE_UNPACKED_MIB);
	else if (fd < 0 && file->member)
		err__set(&offline->refused, -fd, "%s: %s cannot be unpacked: %s", file->path,
			 file->member->name, strerror(-fd));
	return fd;
}

const char *offline__refused(const struct offline *offline)
{
	return offline->refused.msg[0] ? offline->refused.msg : NULL;
}

/* Adds the module of the file once, if the file has the build id. */
static void add_module(struct offline *offline, struct offline_build *build,
		       const struct build_file *file, const char *debug_dir)
{
	const struct debugfile_places places = { .debug_dir = debug_dir, .path = file->path };
	struct image_part part;
	struct module *module;
	struct stat st;
	int fd = build->cnt == PATHS_MAX ? -ENOSPC : open_file(offline, file, &st, &part);

	if (fd < 0 || !is_of(fd, part, build->build_id)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	module = modules__of_file(&offline->env.modules, dup(fd), &st, part);
	for (size_t i = 0; module && i < build->cnt; i++) {
		if (build->modules[i] != module)
			continue;
		module__put(&offline->env.modules, module);
		module = NULL;
	}
	if (module) {
		module__load(&offline->env.modules, module, fd, &places);
		offline_loads__restore(module, fd);
		build->modules[build->cnt++] = module;
	}
	close(fd);
}

static void add_of_dir(struct offline *offline, struct offline_build *build, const char *dir)
{
	static const char *const ends[] = { "", ".debug" };
	char path[PATH_MAX];

	for (size_t i = 0; i < 2 && strlen(build->build_id) > 2; i++)
		if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s%s", dir, build->build_id,
			     build->build_id + 2, ends[i]) < (int)sizeof(path))
			add_module(offline, build, &(struct build_file){ .path = path }, dir);
}

static void add_indexed(struct offline *offline, struct offline_build *build)
{
	const char *dir = offline->dir_cnt ? offline->dirs[0] : SYSTEM_DIR;
	struct build_files *files;

	for (size_t i = 0; !offline->indexed && i < offline->dir_cnt; i++)
		offline_index__add(&offline->index, offline->dirs[i]);
	offline->indexed = true;
	HASH_FIND(hh, offline->index, build->build_id, strlen(build->build_id), files);
	for (size_t i = 0; files && i < files->cnt; i++)
		add_module(offline, build, &files->files[i], dir);
}

static struct offline_build *build_of(struct offline *offline, const char *build_id)
{
	size_t len = strlen(build_id);
	struct offline_build *build;

	HASH_FIND(hh, offline->builds, build_id, len, build);
	if (build)
		return build;
	build = len < BUILD_ID_HEX_SZ && !strchr(build_id, '/')
			? calloc(1, sizeof(*build) + len + 1)
			: NULL;
	if (!build)
		return NULL;
	memcpy(build->build_id, build_id, len);
	HASH_ADD_KEYPTR(hh, offline->builds, build->build_id, len, build);
	if (!build)
		return NULL;
	for (size_t i = 0; i < offline->dir_cnt; i++)
		add_of_dir(offline, build, offline->dirs[i]);
	add_indexed(offline, build);
	add_of_dir(offline, build, SYSTEM_DIR);
	return build;
}

void offline__archive(struct offline *offline, const char *build_id, const char *module)
{
	const char *bang = *module == '/' ? strstr(module, ".apk!/") : NULL;
	size_t len = bang ? (size_t)(bang - module) + strlen(".apk") : 0;
	struct offline_archive *archive = NULL;
	struct offline_build *build;

	HASH_FIND(hh, offline->builds, build_id, strlen(build_id), build);
	if (build || !len)
		return;
	HASH_FIND(hh, offline->archives, module, len, archive);
	if (archive)
		return;
	archive = calloc(1, sizeof(*archive) + len + 1);
	if (!archive)
		return;
	memcpy(archive->path, module, len);
	HASH_ADD_KEYPTR(hh, offline->archives, archive->path, len, archive);
	if (archive)
		offline_index__add_archive(&offline->index, archive->path);
}

bool offline__knows(struct offline *offline, const char *build_id)
{
	const struct offline_build *build = build_of(offline, build_id);

	return build && build->cnt;
}

/* Decides by the name alone; the module decides the rest. */
static bool is_app(const struct module *module, const char *function)
{
	return !runtime__is_glue(function) &&
	       !(module->is_static && runtime__is_reserved(function));
}

/* Of several files, the first with lines; otherwise the first with a name. */
static bool find(struct offline *offline, const struct offline_build *build, uint64_t offset,
		 struct cached *ret, uint64_t *ret_delta)
{
	const struct resolver rs = {
		.env = &offline->env, .pool = &offline->pool, .demangle = true, .source = true
	};
	bool found = false;

	for (size_t i = 0; i < build->cnt; i++) {
		struct cached entry = {};
		uint64_t delta;

		if (!resolve__file(&rs, build->modules[i], offset, &entry, &delta) ||
		    (found && !entry.file))
			continue;
		entry.app = is_app(build->modules[i], entry.function);
		*ret = entry;
		*ret_delta = delta;
		found = true;
		if (entry.file)
			break;
	}
	return found;
}

size_t offline__name(struct offline *offline, const char *build_id, uint64_t offset, bool exact,
		     struct frame frames[OFFLINE_FRAMES_MAX])
{
	const struct offline_build *build = build_of(offline, build_id);
	uint64_t back = exact || !offset ? 0 : 1, delta;
	struct cached entry;
	size_t cnt = 0;

	if (!build)
		return 0;
	if (!find(offline, build, offset - back, &entry, &delta)) {
		if (!back || !find(offline, build, offset, &entry, &delta))
			return 0;
		back = 0; /* no call: a signal trampoline */
	}
	for (; cnt < entry.inlined_cnt && cnt < OFFLINE_FRAMES_MAX - 1; cnt++)
		frames[cnt] = (struct frame){ .function = entry.inlined[cnt].function,
					      .offset = delta + back,
					      .file = entry.inlined[cnt].file,
					      .line = entry.inlined[cnt].line,
					      .inlined = true };
	frames[cnt] = (struct frame){ .function = entry.function,
				      .offset = delta + back,
				      .file = entry.file,
				      .line = entry.line,
				      .app = entry.app };
	return cnt + 1;
}
