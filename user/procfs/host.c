/* SPDX-License-Identifier: GPL-2.0 */
/* uname, the boot id, CPUs; the memory figures are read anew for each block. */
#include "procfs/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"

static char *boot_id(void)
{
	struct strbuf sb = STRBUF_INIT;
	char *ret = NULL;

	if (!file__read("/proc/sys/kernel/random/boot_id", 256, &sb) && sb.len)
		ret = strndup(sb.data, strcspn(sb.data, "\n"));
	strbuf__free(&sb);
	return ret ? ret : strdup("unknown");
}

int host__read(struct host_info *ret, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname name;

	if (uname(&name))
		return err__set(err, errno, "uname: %s", strerror(errno));
	*ret = (struct host_info){
		.name = strdup(name.nodename),
		.kernel = strdup(name.release),
		.arch = strdup(name.machine),
		.boot_id = boot_id(),
		.cpus = cpus > 0 ? cpus : 1,
	};
	if (ret->name && ret->kernel && ret->arch && ret->boot_id)
		return 0;
	host__free(ret);
	return err__set(err, ENOMEM, "out of memory");
}

void host__free(struct host_info *host)
{
	free(host->name);
	free(host->kernel);
	free(host->arch);
	free(host->boot_id);
	host->name = host->kernel = host->arch = host->boot_id = NULL;
}
