/* SPDX-License-Identifier: GPL-2.0 */
/* Patterns of process names, as bits that a loop over a name's bytes moves on: BPF can run nothing else. */
#include <errno.h>
#include <string.h>

#include "options/filter.h"

#define NAME_MAX_LEN (JANK_COMM_SZ - 1)

static bool has_wildcard(const char *glob)
{
	return strpbrk(glob, "*?");
}

int glob__compile(const char *glob, struct jank_glob *ret)
{
	size_t max = has_wildcard(glob) ? SIZE_MAX : NAME_MAX_LEN; /* the kernel cuts names, too */
	unsigned cnt = 0;

	memset(ret, 0, sizeof(*ret));
	if (!*glob)
		return -EINVAL;
	for (size_t i = 0; glob[i] && i < max; i++) {
		if (glob[i] == '*') {
			ret->star |= 1u << cnt;
			continue;
		}
		if (cnt == NAME_MAX_LEN)
			return -EINVAL;
		for (unsigned byte = 1; byte < 256; byte++)
			if (glob[i] == '?' || (unsigned char)glob[i] == byte)
				ret->match[byte] |= 1u << cnt;
		cnt++;
	}
	ret->accept = 1u << cnt;
	return 0;
}

bool glob__matches(const struct jank_glob *glob, const char *name)
{
	uint32_t state = 1;

	for (size_t i = 0; i < NAME_MAX_LEN && name[i]; i++)
		state = (state & glob->match[(unsigned char)name[i]]) << 1 | (state & glob->star);
	return state & glob->accept;
}
