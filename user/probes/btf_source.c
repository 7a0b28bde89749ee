/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the source of BTF, in the order of how certain it is to match the running kernel. */
#include "probes/btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "btf_embedded.inc"
#include "files/file.h"

/* --- embedded BTF: tools/btf/table generates the table at build time; it may be empty */

const size_t btf_embedded_row_cnt = sizeof(btf_embedded_rows) / sizeof(*btf_embedded_rows) - 1;

const struct btf_embedded *btf_embedded__find(const struct btf_embedded *rows, size_t cnt,
					      const char *release)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(rows[i].release, release))
			return &rows[i];
	for (size_t i = 0; i < cnt; i++)
		if (!fnmatch(rows[i].release, release, 0))
			return &rows[i];
	return NULL;
}

static int keep(struct btf_source *src, const void *data, size_t size, struct err *err)
{
	int code;

	src->fd = memfd_create("jankbpf-btf", MFD_CLOEXEC);
	if (src->fd < 0)
		return err__set(err, errno, "cannot keep the kernel's types: %s", strerror(errno));
	code = file__write_all(src->fd, data, size);
	if (code)
		return err__set(err, -code, "cannot keep the kernel's types: %s", strerror(-code));
	snprintf(src->path, sizeof(src->path), "/proc/self/fd/%d", src->fd);
	return 0;
}

static int open_file(const char *file, struct btf_source *src, struct err *err)
{
	struct strbuf shown = STRBUF_INIT;
	struct btf *btf = NULL;
	const void *data;
	__u32 size;
	int code = btf_file__read(file, &btf, err);

	if (code)
		return code;
	data = btf__raw_data(btf, &size);
	code = data ? keep(src, data, size, err) : err__set(err, ENOMEM, "out of memory");
	btf__free(btf);
	src->origin = BTF_SOURCE_FILE;
	text__add_clean(&shown, file);
	snprintf(src->what, sizeof(src->what), "from '%.140s'", strbuf__str(&shown));
	strbuf__free(&shown);
	return code;
}

static int open_embedded(const char *release, struct btf_source *src, struct err *err)
{
	const struct btf_embedded *row =
		btf_embedded__find(btf_embedded_rows, btf_embedded_row_cnt, release);

	if (!row)
		return err__set_exit(err, JANK_EXIT_CANNOT, ENODATA,
				     "the types of kernel %.65s are not known: it has no "
				     "/sys/kernel/btf/vmlinux, "
				     "and none is built in for it. Give them by --btf FILE: its "
				     "vmlinux with debug "
				     "information after `pahole -J`, or its file from a public "
				     "archive of kernels' "
				     "BTF; or boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
				     release);
	src->origin = BTF_SOURCE_EMBEDDED;
	snprintf(src->what, sizeof(src->what), "embedded, for %.120s", row->release);
	return keep(src, row->data, row->size, err);
}

int btf_source__open_for(const char *file, bool own, const char *release, struct btf_source *ret,
			 struct err *err)
{
	*ret = (struct btf_source){ .origin = BTF_SOURCE_KERNEL, .fd = -1 };
	if (file)
		return open_file(file, ret, err);
	if (!own)
		return open_embedded(release, ret, err);
	snprintf(ret->what, sizeof(ret->what), "the kernel's own");
	return 0;
}

int btf_source__open(const char *file, bool own, struct btf_source *ret, struct err *err)
{
	struct utsname uts;

	uname(&uts);
	return btf_source__open_for(file, own, uts.release, ret, err);
}

const char *btf_source__path(const struct btf_source *src)
{
	return src->path[0] ? src->path : NULL;
}

void btf_source__close(struct btf_source *src)
{
	if (src->fd >= 0)
		close(src->fd);
	src->fd = -1;
	src->path[0] = '\0';
}
