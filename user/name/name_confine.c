/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jankbpf-name gives up before it reads a byte of a traced program. */
#include "base/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files/lone_uid.h"
#include "name/name.h"

#define FILE_MAX 8192
#define DATA_MAX (1ull << 30)

/* A sanitizer's own memory counts as data. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#else
#define HAS_SHADOW 0
#endif

/* Without the capability the process keeps its user, which is root without power. */
static int take_user(uid_t uid)
{
	capng_get_caps_process();
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETUID) ||
	    !capng_have_capability(CAPNG_EFFECTIVE, CAP_SETGID))
		return 0;
	/* A namespace may map the users only; its group needs to be no one's own. */
	if (setgroups(0, NULL) ||
	    (setresgid(uid, uid, uid) && setresgid(UID_NOBODY, UID_NOBODY, UID_NOBODY)) ||
	    setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

static int limit_memory(void)
{
	const struct rlimit data = { DATA_MAX, DATA_MAX }, none = { 0, 0 };

	if (setrlimit(RLIMIT_FSIZE, &none) || setrlimit(RLIMIT_CORE, &none))
		return -errno;
	return !HAS_SHADOW && setrlimit(RLIMIT_DATA, &data) ? -errno : 0;
}

int name_server__confine(uid_t uid, _Atomic uint32_t *forbidden)
{
	/* A sanitizer makes calls of its own when it reports. */
	const struct syscall_end end = { forbidden, name_failing_calls };
	const struct confine_limits limits = { FILE_MAX, SIGKILL, &name_calls, NULL,
					       HAS_SHADOW ? NULL : &end };
	int res = confine__drop_bounding_set();

	if (!res)
		res = take_user(uid);
	if (!res)
		res = confine__drop_capabilities();
	if (!res)
		res = limit_memory();
	return res ? res : confine__limit(&limits);
}
