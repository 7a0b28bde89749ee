/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged answers of an OTLP backend: an answer counts what it refused, or is none; the reason is
 * safe to print.
 */
#include <errno.h>

#include "base/text.h"
#include "export/backend.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define STEPS	 400 /* a byte */
#define BODY_MAX 4096

static size_t make_body(struct fuzz *f, uint8_t *body)
{
	static const uint8_t valid[] = "\x0a\x0e\x08\x03\x12\x0atoo large!\x0a\x02\x08\x01";
	size_t len = sizeof(valid) - 1;

	memcpy(body, valid, len);
	if (fuzz__chance(f, 3))
		len = fuzz__below(f, BODY_MAX);
	for (size_t i = sizeof(valid) - 1; i < len; i++)
		body[i] = fuzz__chance(f, 2) ? (uint8_t)fuzz__any(f) : valid[i % sizeof(valid)];
	for (size_t n = fuzz__below(f, 4); n && len; n--)
		fuzz__damage(f, body, len);
	return len;
}

/* NULL: all promises are kept. */
static const char *broken_promise(int res, uint64_t rejected, const char *why)
{
	if (res && res != -EBADMSG)
		return "another error";
	if (res && (rejected || !*why))
		return "a refused answer counts something, or gives no reason";
	if (!res && rejected && !*why)
		return "records are refused without a message";
	if (rejected > INT64_MAX)
		return "more is refused than a number can say";
	if (!text__is_clean(why))
		return "the reason is not safe to print";
	return NULL;
}

int main(void)
{
	struct fuzz fuzz = fuzz__begin(STEPS);
	uint64_t taken = 0, refused = 0;
	const char *broken = NULL;

	while (!broken && fuzz__goes_on(&fuzz)) {
		uint8_t *body = malloc(BODY_MAX);
		size_t len = make_body(&fuzz, body);
		uint8_t *exact = memcpy(malloc(len ?: 1), body, len); /* a read beyond it is seen */
		struct err why = {};
		uint64_t rejected = 7;
		int res = otlp_backend.check(&otlp_backend.parts[0], exact, len, &rejected, &why);

		broken = broken_promise(res, rejected, why.msg);
		taken += !res;
		refused += !!res;
		cost__end(&fuzz.cost, len);
		free(exact);
		free(body);
	}
	ok(!broken, "round %llu of seed %llu: %s", (unsigned long long)fuzz.round,
	   (unsigned long long)fuzz__env("FUZZ_SEED", 1), broken ?: "all promises are kept");
	ok(taken && refused, "%llu answers were read, %llu refused", (unsigned long long)taken,
	   (unsigned long long)refused);
	cost__ok(&fuzz.cost);
	fuzz__report(&fuzz);
	return tap__done();
}
