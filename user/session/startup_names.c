/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table by the name's hash: a name takes the place of another one with the same hash. */
#include "session/startup_names.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/jank_abi.h"

#define NAME_CNT  1024 /* a power of two */
#define ENDED_MAX 3

struct name {
	char text[JANK_COMM_SZ];
	unsigned ended_cnt;
	bool looped;
};

struct startup_names {
	struct name names[NAME_CNT];
};

struct startup_names *startup_names__new(void)
{
	return calloc(1, sizeof(struct startup_names));
}

void startup_names__free(struct startup_names *names)
{
	free(names);
}

static size_t place_of(const char *text)
{
	size_t hash = 5381;

	for (size_t i = 0; i < JANK_COMM_SZ && text[i]; i++)
		hash = hash * 33 + (unsigned char)text[i];
	return hash & (NAME_CNT - 1);
}

void startup_names__add(struct startup_names *names, const char *text, bool looped)
{
	struct name *name = &names->names[place_of(text)];

	if (strncmp(name->text, text, JANK_COMM_SZ) != 0) {
		*name = (struct name){};
		memcpy(name->text, text, strnlen(text, JANK_COMM_SZ));
	}
	name->looped |= looped;
	name->ended_cnt += !looped;
}

bool startup_names__skips(const struct startup_names *names, const char *text)
{
	const struct name *name = &names->names[place_of(text)];

	return !strncmp(name->text, text, JANK_COMM_SZ) && !name->looped &&
	       name->ended_cnt >= ENDED_MAX;
}
