/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tables of 32-bit arm against .debug_frame, which the same compiler writes for the same code: at
 * each return address both must give the caller's registers at the same places. Needs the cross
 * compiler (make deps-cross).
 */
#include "symbol/unwind/cfi.h"

#include "tests/unit/symbol_fixture.h"

static const char source[] =
	"#include <stdarg.h>\n"
	"extern int callee(void *p, ...); extern double real(double);\n"
	"int small(int v) { return callee(&v) + 1; }\n"
	"int wide(int a, int b, int c, int d) { int r = callee(&a, b, c, d);\n"
	"  r += callee(&r, a * b, c * d); return r * a + b * c - d + callee(0, a ^ b, c ^ d); }\n"
	"int large(int v) { char buf[5000]; callee(buf); return buf[v] + callee(buf, v); }\n"
	"int huge(int v) { char buf[900000]; callee(buf); return buf[v] + callee(buf, v); }\n"
	"int room(int n) { char *p = __builtin_alloca(n); callee(p, n); return p[n - 1] + callee(p); }\n"
	"double floats(double a, double b, double c) { double r = real(a) * b; r += real(b) * c + a;\n"
	"  return r * a * b + real(c) * r; }\n"
	"int many(int n, ...) { va_list ap; va_start(ap, n); int r = callee(&ap); va_end(ap); return r + 1; }\n"
	"int mixed(int n, double d) { char *p = __builtin_alloca(n); d = real(d) + real(d * n);\n"
	"  callee(p, n, d); return real(d) + p[0]; }\n";

static struct cfi *open_file(const char *name)
{
	int fd = open(scratch__path(name), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : cfi__new(fd, (struct image_part){}, NULL, 0);
}

static const struct cfi_rule *rule_of(struct cfi *cfi, const struct cfi_row *row, unsigned reg)
{
	for (unsigned i = 0; i < row->rule_cnt; i++)
		if (cfi__rules(cfi, row)[i].reg == reg)
			return &cfi__rules(cfi, row)[i];
	return NULL;
}

static bool is_same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	if (!a || !b)
		return a == b;
	return a->how == CFI_OFFSET && b->how == CFI_OFFSET && a->value == b->value;
}

/* Rows of the same return address. r0 to r3 are arguments: nobody restores them. */
static bool is_same(struct cfi *a, const struct cfi_row *row_a, struct cfi *b,
		    const struct cfi_row *row_b)
{
	bool ret = row_a->cfa.how == CFI_VAL_OFFSET && row_a->cfa.reg == row_b->cfa.reg &&
		   row_a->cfa.value == row_b->cfa.value && row_b->cfa.how == CFI_VAL_OFFSET;

	for (unsigned reg = 4; ret && reg < 15; reg++)
		ret = is_same_rule(rule_of(a, row_a, reg), rule_of(b, row_b, reg));
	return ret;
}

static void compare(const char *flags)
{
	unsigned calls = 0, same = 0;
	char command[512];
	struct cfi *dwarf, *exidx;
	unsigned long call;
	FILE *f;

	snprintf(
		command, sizeof(command),
		"arm-linux-gnueabihf-gcc -g -O2 -fPIC -funwind-tables -shared -nostdlib %s -o $D/a "
		"$D/a.c && arm-linux-gnueabihf-objcopy --strip-debug $D/a $D/b && "
		"arm-linux-gnueabihf-objdump -d $D/a | sed -n 's/^ *\\([0-9a-f]*\\):.*\\tblx*\\t.*/\\1/p' "
		">$D/calls",
		flags);
	if (!fixture__sh(command))
		return;
	dwarf = open_file("a");
	exidx = open_file("b");
	f = fopen(scratch__path("calls"), "r");
	while (f && fscanf(f, "%lx", &call) == 1) { /* file offsets are addresses there */
		struct cfi_row want = *cfi__row(dwarf, call + 4, false);
		struct cfi_row got = *cfi__row(exidx, call + 4, false);

		if (!want.has_table) /* of the linker */
			continue;
		calls++;
		if (got.behind_call && got.has_table && is_same(dwarf, &want, exidx, &got))
			same++;
		else
			diag("%s: %lx: cfa %u%+d, want %u%+d", flags, call, got.cfa.reg,
			     got.cfa.value, want.cfa.reg, want.cfa.value);
	}
	if (f)
		fclose(f);
	ok(calls >= 15 && same == calls, "%s: %u of %u return addresses", flags, same, calls);
	cfi__free(dwarf);
	cfi__free(exidx);
}

int main(void)
{
	if (system("command -v arm-linux-gnueabihf-gcc >/dev/null"))
		skip_all("no compiler for arm: make deps-cross");
	scratch__init();
	scratch__write_text("a.c", source);
	compare("-marm");
	compare("-mthumb");
	compare("-marm -Os");
	compare("-mthumb -fno-omit-frame-pointer -O0");
	return tap__done();
}
