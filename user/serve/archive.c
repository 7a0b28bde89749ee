/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/archive.h"

#include <errno.h>

#ifndef HAVE_LIBARCHIVE

bool archive__load(void)
{
	return false;
}

bool archive__is_available(void)
{
	return false;
}

int archive__zip(const struct archive_file *files, size_t cnt, uint64_t real_ns, struct strbuf *ret)
{
	return -ENOSYS;
}

#else
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>

#include "base/clock.h"

#define LIBRARY "libarchive.so.13"
#define FUNCTIONS(X)                                                                               \
	X(archive_write_new)                                                                       \
	X(archive_write_set_format_zip)                                                            \
	X(archive_write_open)                                                                      \
	X(archive_write_header)                                                                    \
	X(archive_write_data)                                                                      \
	X(archive_write_close)                                                                     \
	X(archive_write_free)                                                                      \
	X(archive_entry_new)                                                                       \
	X(archive_entry_set_pathname)                                                              \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_filetype)                                                              \
	X(archive_entry_set_perm)                                                                  \
	X(archive_entry_set_mtime)                                                                 \
	X(archive_entry_free)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
	bool loaded;
} lib;

bool archive__load(void)
{
	void *so = dlopen(LIBRARY, RTLD_NOW);

	lib.loaded = so;
#define LOAD(function)                                                                             \
	if (so)                                                                                    \
		*(void **)&lib.function = dlsym(so, #function);                                    \
	lib.loaded = lib.loaded && lib.function;
	FUNCTIONS(LOAD)
	return lib.loaded;
}

bool archive__is_available(void)
{
	return lib.loaded;
}

static la_ssize_t on_bytes(struct archive *archive, void *ctx, const void *bytes, size_t len)
{
	strbuf__add(ctx, bytes, len);
	return (la_ssize_t)len;
}

static bool add_file(struct archive *archive, const struct archive_file *file, uint64_t real_ns)
{
	struct archive_entry *entry = lib.archive_entry_new();
	bool ok = false;

	if (!entry)
		return false;
	lib.archive_entry_set_pathname(entry, file->name);
	lib.archive_entry_set_size(entry, (la_int64_t)file->bytes->len);
	lib.archive_entry_set_filetype(entry, AE_IFREG);
	lib.archive_entry_set_perm(entry, 0600);
	lib.archive_entry_set_mtime(entry, (time_t)(real_ns / NS_PER_SEC), 0);
	ok = lib.archive_write_header(archive, entry) == ARCHIVE_OK &&
	     lib.archive_write_data(archive, file->bytes->data, file->bytes->len) ==
		     (la_ssize_t)file->bytes->len;
	lib.archive_entry_free(entry);
	return ok;
}

int archive__zip(const struct archive_file *files, size_t cnt, uint64_t real_ns, struct strbuf *ret)
{
	struct archive *archive = lib.loaded ? lib.archive_write_new() : NULL;
	bool ok;

	if (!archive)
		return lib.loaded ? -ENOMEM : -ENOSYS;
	ok = lib.archive_write_set_format_zip(archive) == ARCHIVE_OK &&
	     lib.archive_write_open(archive, ret, NULL, on_bytes, NULL) == ARCHIVE_OK;
	for (size_t i = 0; ok && i < cnt; i++)
		ok = add_file(archive, &files[i], real_ns);
	ok = ok && lib.archive_write_close(archive) == ARCHIVE_OK;
	lib.archive_write_free(archive);
	return ok && !ret->failed ? 0 : -ENOMEM;
}
#endif
