/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The partner threads that the scenarios need. */
#ifndef SIMJANK_PARTNERS_H
#define SIMJANK_PARTNERS_H

#include "simjank_fixture.h"

/* Starts them; each is ready when this returns. -errno. */
int partners__open(struct fixture *stage);

#endif
