/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks privileges, namespaces, BTF and tracefs before the first BPF call. */
#include "probes/preflight.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/proc.h"

#define TRACEFS		 "/sys/kernel/tracing"
#define TRACEFS_OLD	 "/sys/kernel/debug/tracing"
#define BTF_PATH	 "/sys/kernel/btf/vmlinux"
#define KALLSYMS_HEAD_SZ (1ull << 20)

const struct capability preflight_caps[] = {
	{ CAP_BPF, "CAP_BPF", true, "loads BPF programs", "nothing can be loaded" },
	{ CAP_PERFMON, "CAP_PERFMON", true, "attaches them, opens samplers and uprobes",
	  "nothing can be attached" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, "reads other users' processes",
	  "only processes of this user get names for their stacks" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", false,
	  "mounts tracefs, counts our own cost, opens deleted files of a process",
	  "no bpf_ns in the summary; a program replaced on disk loses its names" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, "reads tracefs and others' files",
	  "system-call tracepoints and others' symbols may be out of reach" },
	{ CAP_SYSLOG, "CAP_SYSLOG", false, "reads kernel addresses in kallsyms",
	  "kernel frames have no names" },
};

const size_t preflight_cap_cnt = sizeof(preflight_caps) / sizeof(*preflight_caps);

bool preflight__has_cap(const struct capability *cap)
{
	bool split = cap->nr == CAP_BPF || cap->nr == CAP_PERFMON || cap->nr == CAP_SYSLOG;

	capng_get_caps_process();
	return capng_have_capability(CAPNG_EFFECTIVE, cap->nr) ||
	       (split && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN));
}

/* The initial namespaces have fixed inode numbers (the kernel's proc_ns.h). */
bool preflight__in_initial_ns(const char *kind)
{
	static const struct {
		const char *kind, *link;
	} initial[] = { { "pid", "pid:[4026531836]" }, { "user", "user:[4026531837]" } };
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		return true; /* not in this kernel, or no /proc: reported elsewhere */
	for (size_t i = 0; i < sizeof(initial) / sizeof(*initial); i++)
		if (!strcmp(kind, initial[i].kind))
			return !strcmp(link, initial[i].link);
	return true;
}

static void add_missing_caps(struct strbuf *sb, bool required)
{
	const char *sep = "";

	for (size_t i = 0; i < preflight_cap_cnt; i++) {
		const struct capability *cap = &preflight_caps[i];

		if (cap->required != required || preflight__has_cap(cap))
			continue;
		strbuf__addf(sb, "%s%s", sep, cap->name);
		sep = ", ";
	}
}

static int check_caps(struct err *err)
{
	struct strbuf needed = STRBUF_INIT, useful = STRBUF_INIT;
	int code = 0;

	add_missing_caps(&needed, true);
	add_missing_caps(&useful, false);
	if (needed.len)
		code = err__set_exit(
			err, JANK_EXIT_CANNOT, EPERM,
			"tracing needs capabilities that uid %u lacks here: %s%s%s; run "
			"it as root, by sudo for example",
			geteuid(), strbuf__str(&needed),
			useful.len ? "; with others it sees more: " : "", strbuf__str(&useful));
	strbuf__free(&needed);
	strbuf__free(&useful);
	return code;
}

/* Without /proc, other checks report it. */
bool preflight__has_own_proc(void)
{
	char link[16] = "";

	return readlink("/proc/self", link, sizeof(link) - 1) < 0 || atoi(link) == getpid();
}

static int check_namespaces(struct err *err)
{
	if (!preflight__in_initial_ns("user"))
		return err__set_exit(err, JANK_EXIT_CANNOT, EPERM,
				     "root of a user namespace has no power over the kernel's "
				     "tracing; run it outside, as the machine's root");
	if (!preflight__has_own_proc())
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "'/proc' shows another pid namespace than this one: mount it "
				     "again (mount -t proc proc /proc), or run it outside, or with "
				     "the machine's pid namespace (--pid=host)");
	return 0;
}

static int check_btf(struct err *err)
{
	if (!access(BTF_PATH, R_OK))
		return 0;
	return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
			     "'" BTF_PATH "': %s; jankbpf finds the kernel's fields by it: boot a "
			     "kernel built with CONFIG_DEBUG_INFO_BTF=y (or mount /sys)",
			     strerror(errno));
}

/* The first ones may be small: offsets of variables of each CPU. */
static int is_kernel_address(char *line, size_t len, uint64_t off, void *ctx)
{
	bool *seen = ctx;

	*seen = len && line[0] >= '8'; /* also a to f */
	return *seen;
}

bool preflight__sees_kernel_addresses(void)
{
	bool seen = false;

	lines__read_path("/proc/kallsyms", (struct lines_limit){ KALLSYMS_HEAD_SZ, 0 },
			 is_kernel_address, &seen);
	return seen;
}

static bool is_tracefs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TRACEFS_MAGIC;
}

bool preflight__has_tracefs(void)
{
	return is_tracefs(TRACEFS) || is_tracefs(TRACEFS_OLD);
}

int preflight__mount_tracefs(struct err *err)
{
	int code;

	if (preflight__has_tracefs() ||
	    !mount("tracefs", TRACEFS, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ||
	    errno == EBUSY) /* another process mounted it first */
		return 0;
	code = errno;
	return err__set_exit(err, JANK_EXIT_CANNOT, code,
			     "tracefs is not mounted and cannot be: %s; as root: mount -t tracefs "
			     "tracefs " TRACEFS,
			     strerror(code));
}

int preflight__check(struct err *err)
{
	int code = check_caps(err) ?: check_namespaces(err) ?: check_btf(err);

	if (!code)
		preflight__mount_tracefs(NULL);
	return code;
}
