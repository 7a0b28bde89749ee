/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a process to the places of its uprobes: mapped files → symbols → code → sites. A file that cannot
 * be read or understood is passed over: it belongs to the traced program, and it may be hostile.
 */
#include "kernel/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/candidates.h"
#include "kernel/elffunc.h"
#include "kernel/sites.h"

#define SITES_MAX    256
#define PICKS_MAX    8
#define CALLEES_MAX  8
#define DEPTH_MAX    2	 /* epoll_wait → epoll_pwait64 → the stub with the system call */
#define UNKNOWN_SIZE 512 /* of code, when a function has no size */
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

/* The last of them is the Looper's; the others differ between libcs. */
static const char *const names[] = {
	"epoll_wait",	 "epoll_pwait",	    "epoll_pwait2",
	"epoll_pwait64", "epoll_pwait2_64", "_ZN7android6Looper8pollOnceEiPiS1_PPv",
};

#define LOOPER (ARRAY_LEN(names) - 1)

struct search {
	struct targets *targets;
	bool want_epoll, want_looper;
	/* of the file at hand */
	const struct insn_arch *arch;
	struct elffunc elf;
	struct target_lib lib;
	bool lib_added;
};

static int add_lib(struct search *search)
{
	struct targets *targets = search->targets;
	struct target_lib *libs;

	if (search->lib_added)
		return 0;
	libs = realloc(targets->libs, (targets->lib_cnt + 1) * sizeof(*libs));
	if (!libs)
		return -ENOMEM;
	libs[targets->lib_cnt++] = search->lib;
	targets->libs = libs;
	search->lib_added = true;
	return 0;
}

/* Functions share code (musl's epoll_wait is a jump to epoll_pwait), and a place is probed once. */
static int add_site(struct search *search, const struct site *site)
{
	struct targets *targets = search->targets;
	struct site *sites;
	int err = add_lib(search);

	if (err)
		return err;
	for (size_t i = 0; i < targets->site_cnt; i++) {
		const struct site *have = &targets->sites[i];

		if (have->lib == targets->lib_cnt - 1 && have->file_offset == site->file_offset &&
		    have->kind == site->kind)
			return 0;
	}
	if (targets->site_cnt == SITES_MAX)
		return 0;
	sites = realloc(targets->sites, (targets->site_cnt + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	targets->sites = sites;
	sites[targets->site_cnt] = *site;
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

/* A function that only hands its arguments on is searched through: what it calls must make the system
 * call with a wait's number itself. */
static int search_func(struct search *search, size_t name, const struct elffunc_place *func,
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
		return add_picks(search, names[name], offset, picks, cnt);

	cnt = sites__callees(search->arch, code, (size_t)len, callees, CALLEES_MAX);
	for (size_t i = 0; i < cnt && !err; i++) {
		struct elffunc_place callee = { func->value + (uint64_t)callees[i], 0 };

		err = search_func(search, name, &callee, depth + 1);
	}
	return err;
}

static int search_elf(struct search *search)
{
	struct elffunc_place funcs[ARRAY_LEN(names)];
	size_t first = search->want_epoll ? 0 : LOOPER;
	size_t cnt = ARRAY_LEN(names) - first - !search->want_looper;
	int err;

	search->arch = insn_arch__by_machine(search->elf.machine);
	if (!search->arch)
		return 0;
	err = elffunc__find(&search->elf, names + first, cnt, funcs);
	if (err <= 0)
		return err == -ENOMEM ? err : 0;
	err = 0;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (funcs[i].value)
			err = search_func(search, first + i, &funcs[i], 0);
	}
	return err;
}

static int search_file(struct search *search, const struct candidate *candidate, pid_t pid)
{
	int fd, err;

	search->lib_added = false;
	search->lib = (struct target_lib){ .dev = candidate->dev, .inode = candidate->inode };
	snprintf(search->lib.path, sizeof(search->lib.path), "%s", candidate->path);
	fd = candidate__open(candidate, pid, search->lib.open_path, sizeof(search->lib.open_path));
	if (fd < 0)
		return 0;
	if (elffunc__open(fd, &search->elf))
		return 0;
	err = search_elf(search);
	elffunc__close(&search->elf);
	return err;
}

static bool has_wait(const struct targets *targets)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		if (targets->sites[i].kind != SITE_LOOPER)
			return true;
	}
	return false;
}

/* The libcs by their names; only where none of them has a wait, any file that is mapped. */
static int search_all(struct search *search, const struct candidates *candidates, pid_t pid)
{
	int err = 0;

	for (size_t i = 0; i < candidates->cnt && !err; i++) {
		if (!candidates->items[i].likely) {
			if (!search->want_epoll || has_wait(search->targets))
				break;
			search->want_looper = false;
		}
		err = search_file(search, &candidates->items[i], pid);
	}
	return err;
}

int targets__find(pid_t pid, bool want_epoll, bool want_looper, struct targets *ret,
		  struct err *err)
{
	struct targets targets = { 0 };
	struct search search = { .targets = &targets,
				 .want_epoll = want_epoll,
				 .want_looper = want_looper };
	struct candidates candidates;
	int code;

	code = candidates__read(pid, &candidates);
	if (!code && (want_epoll || want_looper))
		code = search_all(&search, &candidates, pid);
	candidates__free(&candidates);
	if (!code) {
		*ret = targets;
		return 0;
	}
	targets__free(&targets);
	if (code == -ESRCH)
		return err__set(err, ESRCH, "process %d: there is no such process", (int)pid);
	return err__set(err, -code, "process %d: /proc/%d/maps: %s", (int)pid, (int)pid,
			strerror(-code));
}

void targets__free(struct targets *targets)
{
	free(targets->libs);
	free(targets->sites);
	*targets = (struct targets){ 0 };
}
