/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* tests/live/privileges.t shows for each what fails without it. */
const struct kept_cap kept_caps[] = {
	{ CAP_BPF, "CAP_BPF", "loads probes, and reads their maps during the run", false },
	{ CAP_PERFMON, "CAP_PERFMON", "puts uprobes into programs that start later", false },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "reads memory and /proc of other users' processes",
	  false },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	  "reads other users' programs, and files by handle", false },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
	  "counts our own cost (BPF statistics), opens deleted files (map_files)", false },
	{ CAP_SYSLOG, "CAP_SYSLOG", "reads kernel addresses in kallsyms at the first kernel frame",
	  false },
	{ CAP_SYS_NICE, "CAP_SYS_NICE", "changes the priority of our threads", false },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "locks the buffers of events beyond the user's limit",
	  false },
	{ CAP_KILL, "CAP_KILL",
	  "ends jankbpf-name, jankbpf-deliver, jankbpf-react and COMMAND, which are other users'",
	  false },
	{ CAP_SETUID, "CAP_SETUID",
	  "starts jankbpf-name again as a user of its own, jankbpf-deliver as that of sudo", true },
	{ CAP_SETGID, "CAP_SETGID", "starts both again with that user's groups", true },
};

const size_t kept_cap_cnt = sizeof(kept_caps) / sizeof(*kept_caps);

/* Kernels before 5.11 count maps as locked memory; raising the limit needs CAP_SYS_RESOURCE. */
static void raise_memlock(void)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &limit);
}

static int apply(void)
{
	bool keep[sizeof(kept_caps) / sizeof(*kept_caps)];
	bool may_bound;

	capng_get_caps_process();
	may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	for (size_t i = 0; i < kept_cap_cnt; i++)
		keep[i] = capng_have_capability(CAPNG_PERMITTED, kept_caps[i].nr);
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < kept_cap_cnt; i++)
		if (keep[i])
			capng_update(CAPNG_ADD,
				     (kept_caps[i].for_exec ? 0 : CAPNG_EFFECTIVE) |
					     CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				     kept_caps[i].nr);
	if (may_bound && capng_apply(CAPNG_SELECT_BOUNDS))
		return -EPERM;
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

int privileges__drop(struct err *err)
{
	raise_memlock();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err__set(err, errno, "cannot give up privileges: no_new_privs: %s",
				strerror(errno));
	if (apply())
		return err__set(err, EPERM,
				"cannot give up capabilities: a security module or container may "
				"forbid capset(2)");
	return 0;
}
