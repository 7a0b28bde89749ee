/* SPDX-License-Identifier: GPL-2.0 */
/* Stable names of units and functions. test_signature.c has more functions. */
#include "base/stable_name.h"

#include "tests/tap.h"

#define HEX32 "0123456789abcdef0123456789abcdef"

static const struct {
	void (*add)(struct strbuf *sb, const char *name);
	const char *name, *want;
} rows[] = {
	{ stable_name__add_unit, "app-gnome-foo-12.scope", "app-gnome-foo.scope" },
	{ stable_name__add_unit, "docker-" HEX32 HEX32 ".scope", "docker.scope" },
	{ stable_name__add_unit, "cri-containerd-" HEX32 HEX32 ".scope", "cri-containerd.scope" },
	{ stable_name__add_unit, "libpod-conmon-" HEX32 HEX32 ".scope", "libpod-conmon.scope" },
	{ stable_name__add_unit, "vte-spawn-01234567-89ab-cdef-0123-456789012345.scope",
	  "vte-spawn.scope" },
	{ stable_name__add_unit, "app-firefox@" HEX32 ".service", "app-firefox.service" },
	{ stable_name__add_unit, "session-12.scope", "session.scope" },
	{ stable_name__add_unit, "session-c1.scope", "session.scope" },
	{ stable_name__add_unit, "run-u123.service", "run.service" },
	{ stable_name__add_unit, "run-p123-i456.scope", "run.scope" },
	{ stable_name__add_unit, "run-r" HEX32 ".scope", "run.scope" },
	{ stable_name__add_unit, "run-parts.service", "run-parts.service" },
	{ stable_name__add_unit, "redis-6379.service", "redis-6379.service" },
	{ stable_name__add_unit, "user@1000.service", "user@1000.service" },
	{ stable_name__add_unit, "getty@tty1.service", "getty@tty1.service" },
	{ stable_name__add_unit, "face-cafe.service", "face-cafe.service" },
	{ stable_name__add_unit, "init.scope", "init.scope" },
	{ stable_name__add_unit, "a-1.socket", "a-1.socket" },
	{ stable_name__add_unit, "-1.scope", "-1.scope" },
	{ stable_name__add_unit, ".scope", ".scope" },
	{ stable_name__add_unit, "a-.scope", "a-.scope" },
	{ stable_name__add_unit, "12", "12" },
	{ stable_name__add_unit, "", "" },
	{ stable_name__add_function, "core::f::h0123456789abcdef", "core::f" },
	{ stable_name__add_function, "work.constprop.0", "work" },
	{ stable_name__add_function, "LazyCompile:*f /path/x.js:1:22", "f x.js" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct strbuf sb = STRBUF_INIT;

		rows[i].add(&sb, rows[i].name);
		is_str(strbuf__str(&sb), rows[i].want, "'%s'", rows[i].name);
		strbuf__free(&sb);
	}
	return tap__done();
}
