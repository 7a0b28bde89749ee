/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Most of this says no: a file that is handed over by hand is often a compressed one, a kernel's image, or
 * another machine's, and libbpf says "Invalid argument" to all of them.
 */
#include "probes/btf_file.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "probes/bpf_log.h"
#include "probes/btf_check.h"

#define HEAD_LEN   1024
#define RAW_MAX	   (64 << 20) /* a kernel's with every driver built in has some 20 MB */
#define NAME_SHOWN 200

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "SWAPPED");

/* What is told apart by a few bytes at a fixed place. */
struct form {
	size_t offset;
	const char *magic;
	size_t len;
	const char *is; /* a refusal, with what to do */
};

#define FORM(offset, magic, is)                                                                    \
	{                                                                                          \
		offset, magic, sizeof(magic) - 1, (is)                                             \
	}
#define PACKED(by, tool) "is compressed by " by ": unpack it first (" tool ")"
#define SWAPPED		 "is BTF of a machine with the other byte order"
#define IMAGE		 "is a kernel's boot image: extract its vmlinux first (scripts/extract-vmlinux)"

static const struct form refused[] = {
	FORM(0, "\x1f\x8b", PACKED("gzip", "gzip -d")),
	FORM(0, "\xfd\x37zXZ", PACKED("xz", "xz -d")),
	FORM(0, "\x28\xb5\x2f\xfd", PACKED("zstd", "zstd -d")),
	FORM(0, "\x04\x22\x4d\x18", PACKED("lz4", "lz4 -d")),
	FORM(0, "BZh", PACKED("bzip2", "bzip2 -d")),
	FORM(0, "PK\x03\x04", PACKED("zip", "unzip")),
	FORM(257, "ustar", "is an archive: unpack it first (tar -xf)"),
	FORM(0x202, "HdrS", IMAGE),
	FORM(56, "ARM\x64", IMAGE),
	FORM(0, "\xeb\x9f", SWAPPED),
};

static bool has_form(const struct form *form, const char *head, size_t len)
{
	return form->offset + form->len <= len &&
	       !memcmp(head + form->offset, form->magic, form->len);
}

static int refuse(struct err *err, int code, const char *path, const char *why)
{
	return err__set(err, code, "--btf '%.*s' %s", NAME_SHOWN, path, why);
}

static int refuse_unreadable(struct err *err, const char *path, int code)
{
	return err__set(err, code, "--btf '%.*s' cannot be read: %s", NAME_SHOWN, path,
			strerror(code));
}

static int read_raw(int fd, const char *path, struct btf **ret, struct err *err)
{
	struct strbuf raw = STRBUF_INIT;
	char name[32];
	int code;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	code = file__read(name, RAW_MAX, &raw);
	if (code == -EFBIG)
		code = refuse(err, EFBIG, path, "is too large for a kernel's BTF");
	else if (code)
		code = refuse_unreadable(err, path, -code);
	else if (!(*ret = btf__new(raw.data, raw.len)))
		code = refuse(err, EINVAL, path,
			      "is damaged, or BTF of a kind that this jankbpf is too old for");
	strbuf__free(&raw);
	return code;
}

static int read_elf(int fd, const char *path, struct btf **ret, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	*ret = btf__parse_elf(name, NULL);
	if (*ret)
		return 0;
	if (errno == ENOENT || errno == ENODATA)
		return refuse(err, ENODATA, path,
			      "has no section .BTF: where it has DWARF, `pahole -J` adds one");
	return refuse(err, EINVAL, path, "is a damaged ELF file, or its section .BTF is");
}

static int read_any(int fd, const char *path, struct btf **ret, struct err *err)
{
	const unsigned short magic = BTF_MAGIC;
	char head[HEAD_LEN] = "";
	ssize_t len = pread(fd, head, sizeof(head), 0);

	if (len < 0)
		return refuse_unreadable(err, path, errno);
	if (len >= (ssize_t)sizeof(magic) && !memcmp(head, &magic, sizeof(magic)))
		return read_raw(fd, path, ret, err);
	if (len >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		return read_elf(fd, path, ret, err);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (has_form(&refused[i], head, len))
			return refuse(err, EINVAL, path, refused[i].is);
	return refuse(err, EINVAL, path,
		      "is no BTF: give a kernel's, raw or in an ELF file (vmlinux)");
}

static int check(const struct btf *btf, const char *path, struct err *err)
{
	const char *wrong = btf_check__unsound(btf);
	char lacking[64];

	if (wrong)
		return err__set(err, EINVAL, "--btf '%.*s' is not sound: %s", NAME_SHOWN, path,
				wrong);
	if (btf_check__lacks(btf, lacking, sizeof(lacking)))
		return err__set(err, EINVAL,
				"--btf '%.*s' lacks %s: it is not this architecture's kernel's, or "
				"was minimised for another program",
				NAME_SHOWN, path, lacking);
	return 0;
}

/* O_NONBLOCK: a FIFO must not hold us. */
static int open_regular(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return refuse_unreadable(err, path, errno);
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return refuse(err, EINVAL, path, "is not a regular file");
}

int btf_file__read(const char *path, struct btf **ret, struct err *err)
{
	struct btf *btf = NULL;
	int fd = open_regular(path, err), code;

	if (fd < 0)
		return fd;
	bpf_log__capture(); /* what libbpf says of it goes into our own words */
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	code = read_any(fd, path, &btf, err);
	close(fd);
	if (!code && btf__endianness(btf) != BTF_LITTLE_ENDIAN)
		code = refuse(err, EINVAL, path, SWAPPED);
	if (!code)
		code = check(btf, path, err);
	if (code)
		btf__free(btf);
	else
		*ret = btf;
	return code;
}
