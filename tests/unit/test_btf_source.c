/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The source of the kernel's types: which row is used, the content of each embedded one, no row of
 * another release.
 */

#include <bpf/btf.h>
#include <errno.h>
#include <sys/utsname.h>

#include "base/strbuf.h"
#include "files/file.h"
#include "probes/btf.h"
#include "tests/tap.h"

static const struct btf_embedded rows[] = {
	{ "5.10.*-android12-*", (const unsigned char *)"a", 1 },
	{ "5.10.0-46-cloud", (const unsigned char *)"b", 1 },
	{ "5.10.198-android12-9-[0-9]*", (const unsigned char *)"c", 1 },
	{ "5.10.198-android12-9-00085", (const unsigned char *)"d", 1 },
};

static const struct {
	const char *release, *data; /* NULL: no row */
} finds[] = {
	{ "5.10.0-46-cloud", "b" },
	{ "5.10.0-46-cloud-amd64", NULL },
	{ "5.10.0-4", NULL },
	{ "", NULL },
	{ "5.10.198-android12-9-00085", "d" },
	{ "5.10.198-android12-9-00086", "a" },
	{ "5.10.5-android12-9-00001-gabc", "a" },
	{ "5.10.5-android13-4", NULL },
	{ "5.10.*-android12-*", "a" },
};

static void test_find(void)
{
	for (size_t i = 0; i < sizeof(finds) / sizeof(*finds); i++) {
		const struct btf_embedded *row =
			btf_embedded__find(rows, sizeof(rows) / sizeof(*rows), finds[i].release);

		is_str(row ? (const char *)row->data : "none",
		       finds[i].data ? finds[i].data : "none", "row for '%s'", finds[i].release);
	}
	ok(!btf_embedded__find(rows, 0, "5.10.0-46-cloud"), "an empty table has no row");
}

static void test_own(void)
{
	struct btf_source src;
	struct err err = { 0 };

	is_int(btf_source__open(NULL, true, &src, &err), 0, "the kernel's own: %s", err.msg);
	is_int(src.origin, BTF_SOURCE_KERNEL, "… is its origin");
	ok(!btf_source__path(&src), "… which libbpf finds by itself");
	is_str(src.what, "the kernel's own", "… in words");
	btf_source__close(&src);
}

/* Reads the path as libbpf does. */
static void check_parsed(const char *path, const struct btf_embedded *row)
{
	struct btf *btf = btf__parse(path, NULL);
	struct strbuf bytes = STRBUF_INIT;
	char lacking[64] = "";

	is_int(file__read(path, 1 << 20, &bytes), 0, "… is a file to be read");
	ok(bytes.len == row->size && !memcmp(bytes.data, row->data, row->size),
	   "… with the row's %zu bytes", row->size);
	if (ok(btf, "… that libbpf can read")) {
		is_str(btf_check__unsound(btf) ?: "", "", "… and that is valid");
		ok(!btf_check__lacks(btf, lacking, sizeof(lacking)), "… and lacks nothing %s",
		   lacking);
	}
	btf__free(btf);
	strbuf__free(&bytes);
}

static void test_embedded(void)
{
	ok(btf_embedded_row_cnt >= 2, "%zu kernels are built in", btf_embedded_row_cnt);
	for (size_t i = 0; i < btf_embedded_row_cnt; i++) {
		const struct btf_embedded *row = &btf_embedded_rows[i];
		struct btf_source src;
		struct err err = { 0 };

		is_int(btf_source__open_for(NULL, false, row->release, &src, &err), 0, "%s: %s",
		       row->release, err.msg);
		is_int(src.origin, BTF_SOURCE_EMBEDDED, "… is embedded");
		has_str(src.what, row->release, "… and says so: %s", src.what);
		check_parsed(btf_source__path(&src), row);
		btf_source__close(&src);
		ok(src.fd == -1 && !btf_source__path(&src), "… and is gone when closed");
		btf_source__close(&src);
	}
}

static void test_unknown(void)
{
	struct btf_source src;
	struct err err = { 0 };

	is_int(btf_source__open_for(NULL, false, "4.2.0-none", &src, &err), -ENODATA,
	       "an unknown release");
	is_int(err.exit, JANK_EXIT_CANNOT, "… is not supported");
	has_str(err.msg, "4.2.0-none", "… the message names it");
	has_str(err.msg, "--btf FILE", "… with the option");
	has_str(err.msg, "pahole -J", "… and where to get a file");
	has_str(err.msg, "CONFIG_DEBUG_INFO_BTF", "… to the end of the sentence");
	ok(!btf_source__path(&src), "… and no path");
	btf_source__close(&src);
	is_int(btf_source__open_for(NULL, false, "4.2.0-none", &src, NULL), -ENODATA,
	       "the same without struct err");
}

int main(void)
{
	test_find();
	test_own();
	test_embedded();
	test_unknown();
	return tap__done();
}
