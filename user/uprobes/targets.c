/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the uprobe sites of a process: mapped files → sites. */
#include "uprobes/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "catalogue/catalogue.h"
#include "files/zip.h"
#include "symbol/elf/elffunc.h"
#include "uprobes/mapped_files.h"
#include "uprobes/sites.h"

/* --- one file: symbols → code → sites; skips what cannot be parsed, which may be hostile */

#define SITES_MAX    256
#define PICKS_MAX    8
#define CALLEES_MAX  8
#define DEPTH_MAX    2	 /* epoll_wait → epoll_pwait64 → the stub with the system call */
#define UNKNOWN_SIZE 512 /* bytes of code, when a function has no size */
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

/* The last one is of the Looper; the others differ between libcs. */
static const char *const functions[] = {
	"epoll_wait",	 "epoll_pwait",	    "epoll_pwait2",
	"epoll_pwait64", "epoll_pwait2_64", "_ZN7android6Looper8pollOnceEiPiS1_PPv",
};

#define LOOPER (ARRAY_LEN(functions) - 1)

struct search {
	struct targets *targets;
	const struct target_wants *wants;
	struct target_lib *lib; /* the last of targets */
	const struct insn_arch *arch;
	struct elffunc elf;
};

/*
 * Adds a site unless it is there. Functions share code (musl's epoll_wait is a jump to
 * epoll_pwait), and a place is probed once for each purpose.
 */
static int add_site(struct search *search, const struct site *site)
{
	struct targets *targets = search->targets;
	struct site *sites;

	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *have = &targets->sites[i];

		if (have->lib == targets->lib_cnt - 1 && have->file_offset == site->file_offset &&
		    have->kind == site->kind && have->mark == site->mark)
			return 0;
	}
	if (targets->site_cnt == SITES_MAX)
		return 0;
	sites = realloc(targets->sites, (targets->site_cnt + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	targets->sites = sites;
	sites[targets->site_cnt] = *site;
	sites[targets->site_cnt].file_offset += search->lib->base;
	sites[targets->site_cnt++].lib = (unsigned)targets->lib_cnt - 1;
	return 0;
}

static int add_picks(struct search *search, const char *name, uint64_t offset,
		     const struct site_pick *picks, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		struct site site = { .kind = picks[i].kind,
				     .cost = picks[i].cost,
				     .file_offset = offset + picks[i].offset,
				     .function = name };

		err = add_site(search, &site);
	}
	return err;
}

/*
 * Also searches the callees of a function that only passes its arguments on; they must make the
 * system call with a wait's number themselves.
 */
static int search_function(struct search *search, size_t name, const struct elffunc_place *func,
			   unsigned depth)
{
	uint8_t code[SITES_CODE_MAX];
	struct site_pick picks[PICKS_MAX];
	int64_t callees[CALLEES_MAX];
	size_t want = func->size ? func->size : UNKNOWN_SIZE, cnt;
	uint64_t offset;
	int len, err = 0;

	len = elffunc__code(&search->elf, func->value, code,
			    want < sizeof(code) ? want : sizeof(code), &offset);
	if (len <= 0)
		return 0;
	if (name == LOOPER)
		cnt = sites__entry(search->arch, code, (size_t)len, picks);
	else
		cnt = sites__wait(search->arch, code, (size_t)len, picks, PICKS_MAX);
	if (cnt || name == LOOPER || depth == DEPTH_MAX)
		return add_picks(search, functions[name], offset, picks, cnt);

	cnt = sites__callees(search->arch, code, (size_t)len, callees, CALLEES_MAX);
	for (size_t i = 0; i < cnt && !err; i++) {
		struct elffunc_place callee = { func->value + (uint64_t)callees[i], 0 };

		err = search_function(search, name, &callee, depth + 1);
	}
	return err;
}

static int search_functions(struct search *search)
{
	struct elffunc_place funcs[ARRAY_LEN(functions)];
	size_t first = search->wants->epoll ? 0 : LOOPER;
	size_t cnt = ARRAY_LEN(functions) - first - !search->wants->looper;
	int err;

	if (!cnt)
		return 0;
	search->arch = insn_arch__by_machine(search->elf.elf.machine);
	if (!search->arch)
		return 0;
	err = elffunc__find(&search->elf, functions + first, cnt, funcs);
	if (err <= 0)
		return err == -ENOMEM ? err : 0;
	err = 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (funcs[i].value)
			err = search_function(search, first + i, &funcs[i], 0);
	}
	return err;
}

static int search_marks(struct search *search, bool is_exe)
{
	const struct catalogue *cat = search->wants->catalogue;
	const struct catalogue_file file = { .path = search->lib->path,
					     .is_exe = is_exe,
					     .elf = &search->elf };
	struct mark_site *found;
	size_t cnt;
	int err = mark_sites__find(cat, &file, &found, &cnt);

	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		bool is_wait = found[i].mark == MARK_SITE_WAIT;
		const char *symbol = is_wait ? found[i].row->wait_symbol
					     : catalogue__mark(cat, found[i].mark)->symbol;
		const struct site site = { .kind = is_wait ? SITE_CUSTOM : SITE_MARK,
					   .cost = found[i].cost,
					   .file_offset = found[i].file_offset,
					   .function = symbol ? symbol : found[i].row->id,
					   .mark = is_wait ? 0 : found[i].mark,
					   .pausable = !catalogue_row__waits_itself(found[i].row) };

		if (found[i].absence == MARK_THERE)
			err = add_site(search, &site);
	}
	free(found);
	return err;
}

/* Finds the part of the file and its name. */
static void describe(const struct target_file *file, int fd, struct target_lib *ret)
{
	struct zip_entry entry;

	*ret = (struct target_lib){ .dev = file->dev, .inode = file->inode, .size = UINT64_MAX };
	snprintf(ret->path, sizeof(ret->path), "%s", file->path);
	if (!zip_entry__is_archive(file->path))
		return;
	ret->base = file->offset;
	ret->size = 1;
	if (elffunc__entry(fd, file->offset, &entry))
		return;
	ret->base = entry.offset;
	ret->size = entry.size;
	snprintf(ret->path, sizeof(ret->path), "%.*s!/%s", PATH_MAX, file->path, entry.name);
}

static int add_lib(struct search *search, const struct target_lib *lib)
{
	struct targets *targets = search->targets;
	struct target_lib *libs = realloc(targets->libs, (targets->lib_cnt + 1) * sizeof(*libs));

	if (!libs)
		return -ENOMEM;
	targets->libs = libs;
	search->lib = &libs[targets->lib_cnt++];
	*search->lib = *lib;
	return 0;
}

static bool has_lib(const struct targets *targets, const struct target_lib *lib)
{
	for (size_t i = 0; i < targets->lib_cnt; i++) {
		if (targets->libs[i].dev == lib->dev && targets->libs[i].inode == lib->inode &&
		    targets->libs[i].base == lib->base)
			return true;
	}
	return false;
}

static int search_lib(struct search *search, const struct target_file *file, int fd)
{
	const struct target_lib *lib = search->lib;
	const char *name = text__base_name(lib->path);
	int err = 0;

	if (elffunc__open_within(fd, lib->base, lib->size, &search->elf))
		return 0;
	if (file->is_exe || file->is_odd || library_name__has_waits(name))
		err = search_functions(search);
	if (!err && target_wants__marks(search->wants, name, file->is_exe))
		err = search_marks(search, file->is_exe);
	elffunc__close(&search->elf);
	return err;
}

int targets__search(struct targets *targets, const struct target_wants *wants,
		    const struct target_file *file, int fd)
{
	struct search search = { .targets = targets, .wants = wants };
	struct target_lib lib;
	int err;

	describe(file, fd, &lib);
	if (has_lib(targets, &lib)) {
		close(fd);
		return 0;
	}
	err = add_lib(&search, &lib);
	if (err) {
		close(fd);
		return err;
	}
	return search_lib(&search, file, fd);
}

static bool has_site_in(const struct targets *targets, size_t lib)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		if (targets->sites[i].lib == lib)
			return true;
	}
	return false;
}

static bool has_wait(const struct targets *targets)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		if (targets->sites[i].kind == SITE_WAIT_BEGIN)
			return true;
	}
	return false;
}

/* Searches one file. Drops a library without sites. */
static int search_file(struct targets *targets, const struct target_wants *wants,
		       const struct candidate *candidate, pid_t pid, struct err *warning)
{
	const struct target_file file = { .path = candidate->path,
					  .dev = candidate->dev,
					  .inode = candidate->inode,
					  .offset = candidate->offset,
					  .is_exe = candidate->is_exe,
					  .is_odd = !candidate->likely };
	size_t lib = targets->lib_cnt;
	char open_path[TARGET_PATH_MAX];
	int fd, err;

	fd = candidate__open(candidate, pid, open_path, sizeof(open_path));
	if (fd == -EWOULDBLOCK && !targets->leased_cnt++)
		err__set(warning, EWOULDBLOCK,
			 "'%s': another process holds a lease on it: its functions get no probes",
			 candidate->path);
	if (fd < 0)
		return 0;
	err = targets__search(targets, wants, &file, fd);
	if (err || targets->lib_cnt == lib)
		return err;
	if (has_site_in(targets, lib))
		memcpy(targets->libs[lib].open_path, open_path, sizeof(open_path));
	else
		targets->lib_cnt--;
	return 0;
}

/* Searches the likely files; only when none of them has a wait, every mapped file. */
static int search_all(struct targets *targets, const struct target_wants *wants,
		      const struct mapped_files *candidates, pid_t pid, struct err *warning)
{
	const struct target_wants waits = { .epoll = true };
	int err = 0;

	for (size_t i = 0; i < candidates->cnt && !err; i++) {
		if (!candidates->items[i].likely) {
			if (!wants->epoll || has_wait(targets))
				break;
			wants = &waits;
		}
		err = search_file(targets, wants, &candidates->items[i], pid, warning);
	}
	return err;
}

int targets__find(pid_t pid, const struct target_wants *wants, struct targets *ret, struct err *err)
{
	struct targets targets = { 0 };
	struct mapped_files candidates;
	int code;

	code = mapped_files__read(pid, wants, &candidates);
	if (!code)
		code = search_all(&targets, wants, &candidates, pid, err);
	mapped_files__free(&candidates);
	if (!code) {
		*ret = targets;
		return 0;
	}
	targets__free(&targets);
	return err__set(err, -code, "process %d: /proc/%d/maps: %s", (int)pid, (int)pid,
			strerror(-code));
}

void targets__free(struct targets *targets)
{
	free(targets->libs);
	free(targets->sites);
	*targets = (struct targets){ 0 };
}
