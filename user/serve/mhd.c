/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/mhd.h"

#ifdef HAVE_MICROHTTPD
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#define LIBRARY "libmicrohttpd.so.12"

struct mhd_library mhd;

int mhd__load(struct err *err)
{
	void *so = dlopen(LIBRARY, RTLD_NOW);
	bool whole = so;

#define MHD_LOAD(name)                                                                             \
	if (so)                                                                                    \
		*(void **)&mhd.name = dlsym(so, "MHD_" #name);                                     \
	whole = whole && mhd.name;
	MHD_FUNCTIONS(MHD_LOAD)
	return whole ? 0
		     : err__set(err, ENOENT,
				"HTTP needs " LIBRARY
				", which cannot be loaded: install libmicrohttpd12 (an agent can "
				"do without: metrics-listen off)");
}
#endif
