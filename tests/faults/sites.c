/* SPDX-License-Identifier: GPL-2.0 */
/* The shared table of call sites, and the decision which call fails. See sites.h. */
#include "tests/faults/sites.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define MODULES_MAX 64
#define SITES_MAX   16384
#define FRAMES_MAX  64
#define NAME_SZ	    20
#define PATH_SZ	    120

/* tests/faults/table.py reads these. */
struct site {
	_Atomic uint64_t key; /* 0: free */
	char name[NAME_SZ];
	uint32_t detail;
	uint64_t module, offset; /* where the call returns to */
	uint64_t caller;	 /* the nearest frame of the program, as an offset in it */
	_Atomic uint64_t cnt;
};

struct table {
	_Atomic uint64_t failed, dropped;
	char modules[MODULES_MAX][PATH_SZ]; /* the first is the program */
	struct site sites[SITES_MAX];
};

struct module {
	uintptr_t base, begin, end;
	bool own, is_ignored;
};

struct path {
	uint64_t key, module, offset, caller;
	unsigned len, of_program;
	bool is_ignored, is_whole; /* whole: every frame below the program's is in the key */
};

static struct table *table;
static struct module modules[MODULES_MAX];
static unsigned module_cnt, depth = 1;
static uint64_t failing_key, failing_call;
static bool is_other;
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static uint64_t number(const char *name, int base)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, base) : 0;
}

static int add_module(struct dl_phdr_info *info, size_t unused_size, void *unused)
{
	struct module *module = &modules[module_cnt];
	const char *name = *info->dlpi_name ? info->dlpi_name : "program";

	if (module_cnt == MODULES_MAX)
		return 1;
	*module = (struct module){ .base = info->dlpi_addr, .begin = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		module->begin = begin < module->begin ? begin : module->begin;
		module->end = begin + part->p_memsz;
	}
	module->own = (uintptr_t)add_module - module->begin < module->end - module->begin;
	module->is_ignored = strstr(name, "/libasan") || strstr(name, "/ld-linux");
	strncpy(table->modules[module_cnt++], name, PATH_SZ - 1);
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTS_TABLE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct table *mapped;

	unsetenv("LD_PRELOAD"); /* not in the traced program */
	if (fd < 0)
		return;
	mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		return;
	failing_key = number("FAULTS_SITE", 16);
	failing_call = number("FAULTS_CALL", 10);
	is_other = number("FAULTS_VARIANT", 10);
	depth = number("FAULTS_DEPTH", 10) ?: 1;
	is_inside = true;
	table = mapped;
	dl_iterate_phdr(add_module, NULL);
	is_inside = false;
}

/* The module's number, or module_cnt. */
static unsigned module_at(uintptr_t addr)
{
	unsigned i = 0;

	while (i < module_cnt && addr - modules[i].begin >= modules[i].end - modules[i].begin)
		i++;
	return i;
}

static void mix(uint64_t *key, uint64_t value)
{
	*key = (*key ^ value) * 0x9e3779b97f4a7c15ull;
	*key ^= *key >> 29;
}

/*
 * A site is where the call returns to. If that is in a library, the nearest frame of the program
 * belongs to it, and for system calls each frame of the library too: libbpf has one for all.
 */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct path *path = data;
	uintptr_t addr = _Unwind_GetIP(context);
	unsigned at = module_at(addr);
	uint64_t offset = addr - modules[at].base;

	if (at == module_cnt || path->len == FRAMES_MAX)
		return _URC_END_OF_STACK;
	if (modules[at].own)
		return _URC_NO_REASON;
	path->is_ignored |= modules[at].is_ignored;
	if (!path->len++) {
		path->module = at;
		path->offset = offset;
		mix(&path->key, at);
		mix(&path->key, offset);
	} else if (!at || path->is_whole) {
		mix(&path->key, offset);
	}
	if (at)
		return _URC_NO_REASON;
	if (!path->of_program++)
		path->caller = offset;
	return path->of_program < depth ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static struct site *find(const struct path *path, const char *name, unsigned detail)
{
	for (uint64_t i = 0; i < SITES_MAX; i++) {
		struct site *site = &table->sites[(path->key + i) % SITES_MAX];
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&site->key, &none, path->key)) {
			strncpy(site->name, name, NAME_SZ - 1);
			site->detail = detail;
			site->module = path->module;
			site->offset = path->offset;
			site->caller = path->caller;
			return site;
		}
		if (none == path->key)
			return site;
	}
	table->dropped++;
	return NULL;
}

static bool is_failing(const char *name, unsigned detail)
{
	struct path path = { .key = 1, .is_whole = detail };
	struct site *site;

	for (const char *at = name; *at; at++)
		mix(&path.key, (unsigned char)*at);
	mix(&path.key, detail);
	_Unwind_Backtrace(add_frame, &path);
	if (!path.len || path.is_ignored)
		return false;
	site = find(&path, name, detail);
	return site && ++site->cnt == failing_call && path.key == failing_key;
}

bool site__fails(const char *name, unsigned detail, int error, int other)
{
	int before = errno;
	bool ret;

	if (!table || is_inside)
		return false;
	is_inside = true;
	ret = is_failing(name, detail);
	is_inside = false;
	errno = before;
	if (!ret)
		return false;
	table->failed++;
	errno = is_other ? other : error;
	return true;
}
