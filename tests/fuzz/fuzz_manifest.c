/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged manifests of APKs: a package that is found has a name, and texts that end. */
#include "files/package.h"
#include "tests/fuzz/corpus.h"

static const char *const words[] = { "\1\0\34\0", "\2\1\20\0", "m\0a\0n\0i\0f\0",
				     "\377\377\377\377", NULL };

int main(void)
{
	struct corpus *c = corpus__load("manifest", 80);
	const char *broken = NULL;
	struct package package;
	uint64_t found = 0;

	c->words = words;
	while (corpus__next(c) && !broken) {
		int res = manifest__package(c->bytes, c->len, &package);

		found += !res;
		if (strnlen(package.name, PACKAGE_TEXT_SZ) == PACKAGE_TEXT_SZ ||
		    strnlen(package.version, PACKAGE_TEXT_SZ) == PACKAGE_TEXT_SZ)
			broken = "a text without an end";
		if (!res && !*package.name)
			broken = "a package without a name";
	}
	fuzz__ok(&c->fuzz, broken);
	ok(found > 0, "%llu packages were found", (unsigned long long)found);
	corpus__end(c);
	return tap__done();
}
