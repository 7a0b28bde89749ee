/* SPDX-License-Identifier: GPL-2.0 */
/* A library of the program's package, stripped; it calls a named function of zlib. */
#include <zlib.h>

static unsigned char data[1 << 20], to[2 << 20];

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 2; i++) {
		uLongf len = sizeof(to);

		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (unsigned char)(k * k >> 7);
		compress2(to, &len, data, sizeof(data), 9);
	}
}

void package_work(void)
{
	work();
	__asm__ volatile("");
}
