/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The partner threads that the scenarios need. */
#ifndef SIMJANK_PARTNERS_H
#define SIMJANK_PARTNERS_H

#include "simjank_fixture.h"

/* Starts them; when this returns, each is ready. Returns 0 or -errno. */
int partners__open(struct fixture *stage);

#endif
