/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/must.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"

#define CAP_FIRST 64

static void *checked(void *allocated)
{
	if (!allocated) {
		log__error("out of memory");
		exit(JANK_EXIT_FAILED);
	}
	return allocated;
}

void *must__malloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *must__calloc(size_t cnt, size_t size)
{
	return checked(calloc(cnt ? cnt : 1, size));
}

void *must__realloc(void *old, size_t size)
{
	return checked(realloc(old, size));
}

char *must__strdup(const char *text)
{
	return checked(strdup(text));
}

void *must__grow(void *array, size_t cnt, size_t *cap, size_t size)
{
	if (cnt < *cap)
		return array;
	*cap = *cap ? 2 * *cap : CAP_FIRST;
	return must__realloc(array, *cap * size);
}
