/* SPDX-License-Identifier: GPL-2.0 */
/* --btf: good files in both forms, and each bad one with the words of its refusal. */
#include "probes/btf.h"

#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static void check_good(const char *path, const char *what)
{
	struct btf_source src;
	struct err err = { 0 };

	is_int(btf_source__open(path, true, &src, &err), 0, "%s is taken: %s", what, err.msg);
	is_int(src.origin, BTF_SOURCE_FILE, "… before the kernel's own types");
	has_str(src.what, path, "… and named");
	ok(btf_source__path(&src) && !access(btf_source__path(&src), R_OK), "… from memory");
	btf_source__close(&src);
}

/* Must be refused; `says` is a part of the message, or NULL. */
static void check_bad(const char *path, const char *says, const char *what)
{
	struct btf_source src;
	struct err err = { 0 };
	int code = btf_source__open(path, true, &src, &err);

	ok(code < 0, "%s is refused: %s", what, err.msg);
	is_int(err.exit, JANK_EXIT_FAILED, "… as a failure");
	has_str(err.msg, says, "… in words");
	has_str(err.msg, path, "… that quote the file");
	ok(!btf_source__path(&src), "… and there is no path");
	btf_source__close(&src);
}

/* --- good ones */

static void test_good(void)
{
	const struct btf_embedded *row = &btf_embedded_rows[0];
	char command[512];

	if (!btf_embedded_row_cnt) {
		ok(false, "no BTF is built in to test with");
		return;
	}
	check_good(scratch__write("raw", row->data, row->size), "raw BTF");
	snprintf(command, sizeof(command),
		 "objcopy --add-section .BTF=%s/raw /proc/self/exe %s/elf 2>/dev/null", scratch_dir,
		 scratch_dir);
	if (system(command))
		skip(4, "no objcopy");
	else
		check_good(scratch__path("elf"), "an ELF file with it");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip(4, "this kernel has no BTF");
	else
		check_good("/sys/kernel/btf/vmlinux", "this kernel's");
}

/* --- files of other formats */

static const struct {
	const char *name;
	size_t offset;
	const char *magic;
	size_t len;
	const char *says;
} others[] = {
#define OTHER(name, offset, magic, says)                                                           \
	{                                                                                          \
		name, offset, magic, sizeof(magic) - 1, says                                       \
	}
	OTHER("text", 0, "hello, world\n", "is no BTF: give a kernel's"),
	OTHER("short", 0, "\x9f", "is no BTF"),
	OTHER("magic", 0, "\x9f\xeb", "is damaged"),
	OTHER("gzip", 0, "\x1f\x8b\x08", "is compressed by gzip: unpack it first (gzip -d)"),
	OTHER("xz", 0, "\xfd\x37zXZ\0", "is compressed by xz: unpack it first (xz -d)"),
	OTHER("zstd", 0, "\x28\xb5\x2f\xfd", "is compressed by zstd"),
	OTHER("lz4", 0, "\x04\x22\x4d\x18", "is compressed by lz4"),
	OTHER("bzip2", 0, "BZh91AY", "is compressed by bzip2"),
	OTHER("zip", 0, "PK\x03\x04", "is compressed by zip"),
	OTHER("tar", 257, "ustar", "is an archive: unpack it first"),
	OTHER("bzImage", 0x202, "HdrS", "is a kernel's boot image: extract its vmlinux"),
	OTHER("Image", 56, "ARM\x64", "is a kernel's boot image"),
	OTHER("swapped", 0, "\xeb\x9f\1\0\0\0\0\x18", "of a machine with the other byte order"),
	OTHER("elf", 0, ELFMAG "\2\1\1", "is a damaged ELF file"),
	OTHER("elf32", 0, ELFMAG "\1\2\1", "is a damaged ELF file"),
#undef OTHER
};

static void test_others(void)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char bytes[1024] = "";

		memcpy(bytes + others[i].offset, others[i].magic, others[i].len);
		check_bad(scratch__write(others[i].name, bytes, others[i].offset + others[i].len),
			  others[i].says, others[i].name);
	}
	check_bad(scratch__write("empty", "", 0), "is no BTF", "an empty file");
	check_bad(scratch__path("missing"), "cannot be read: No such file", "a missing file");
	check_bad(scratch_dir, "is not a regular file", "a directory");
	check_bad("/dev/zero", "is not a regular file", "a device");
	check_bad("/proc/self/exe", "has no section .BTF", "a program");
	mkfifo(scratch__path("fifo"), 0600);
	check_bad(scratch__path("fifo"), "is not a regular file", "a FIFO without a writer");
}

static void test_large(void)
{
	const char *path = scratch__write("large", "\x9f\xeb\1\0\x18", 5);

	if (truncate(path, 65ll << 20))
		diag("cannot make it large");
	check_bad(path, "is too large for a kernel's BTF", "a file of 65 MiB");
}

/* --- invalid BTF */

struct raw_btf {
	struct btf_header hdr;
	struct btf_type types[300];
	char strs[8];
};

/* `cnt` types; each is a typedef of the next. */
static struct raw_btf typedefs(size_t cnt)
{
	struct raw_btf raw = {
		.hdr = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(raw.hdr) },
		.strs = "\0name",
	};

	raw.hdr.type_len = sizeof(raw.types);
	raw.hdr.str_off = sizeof(raw.types);
	raw.hdr.str_len = sizeof(raw.strs);
	for (size_t i = 0; i < sizeof(raw.types) / sizeof(*raw.types); i++) {
		bool refers = i < cnt;

		raw.types[i].name_off = refers;
		raw.types[i].info = (refers ? BTF_KIND_TYPEDEF : BTF_KIND_FWD) << 24;
		raw.types[i].type = refers ? i + 2 : 0;
	}
	return raw;
}

static void check_raw(const struct raw_btf *raw, const char *says, const char *what)
{
	check_bad(scratch__write("made", raw, sizeof(*raw)), says, what);
}

static void test_unsound(void)
{
	struct raw_btf raw = typedefs(50);

	check_raw(&raw, "lacks task_struct.pid: it is not this architecture's", "no useful type");
	raw = typedefs(250);
	check_raw(&raw, "a type in it holds itself", "a chain of 250 typedefs");
	raw = typedefs(3);
	raw.types[2].type = 1;
	check_raw(&raw, "a type in it holds itself", "a cycle of typedefs");
	raw = typedefs(1);
	raw.types[0].type = 1;
	check_raw(&raw, "a type in it holds itself", "a typedef of itself");
	raw = typedefs(1);
	raw.types[0].type = 301;
	check_raw(&raw, "refers to what it does not hold", "a missing type");
	raw.types[0].type = UINT32_MAX;
	check_raw(&raw, "refers to what it does not hold", "a type far out of range");
	raw = typedefs(1);
	raw.types[0].name_off = 8;
	check_raw(&raw, "refers to what it does not hold", "a name beyond the names");
	raw = typedefs(1);
	raw.types[7].info = 31u << 24;
	check_raw(&raw, "is damaged, or BTF of a kind", "an unknown kind");
	raw = typedefs(1);
	raw.types[0].info = BTF_KIND_STRUCT << 24 | 0xffff;
	check_raw(&raw, "is damaged", "a struct with more members than the file has");
	raw = typedefs(1);
	raw.hdr.str_len = UINT32_MAX;
	check_raw(&raw, "is damaged", "names beyond the end");
	raw = typedefs(1);
	raw.strs[7] = 'x';
	check_raw(&raw, "is damaged", "names without a terminator");
}

/* A struct's member is 12 bytes, as a type is: this one is { struct itself name; }. */
static void test_struct_in_itself(void)
{
	struct raw_btf raw = typedefs(0);

	raw.types[0] = (struct btf_type){ 1, BTF_KIND_STRUCT << 24 | 1, { .size = 8 } };
	raw.types[1] = (struct btf_type){ 0, 1, { 0 } };
	check_raw(&raw, "a type in it holds itself", "a struct that contains itself");
	raw.types[1] = (struct btf_type){ 0, 4096, { 0 } };
	check_raw(&raw, "refers to what it does not hold", "a member without a type");
	raw.types[1] = (struct btf_type){ 99, 2, { 0 } };
	check_raw(&raw, "refers to what it does not hold", "a member without a name");
}

int main(void)
{
	scratch__init();
	test_good();
	test_others();
	test_large();
	test_unsound();
	test_struct_in_itself();
	return tap__done();
}
