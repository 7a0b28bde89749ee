/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixture's helper processes: what it opens before there is a second thread. Each function
 * returns 0 or -errno.
 */
#ifndef SIMJANK_HELPERS_H
#define SIMJANK_HELPERS_H

#include "simjank_fixture.h"

int helpers__open_shared(struct fixture *stage); /* memory: before any other */
int helpers__fork_hogs(struct fixture *stage);
int helpers__fork_crowd(struct fixture *stage); /* four for each CPU; -E2BIG: too many CPUs */
int helpers__fork_rt_hog(struct fixture *stage);
int helpers__fork_continuer(struct fixture *stage);
int helpers__fork_locker(struct fixture *stage); /* these two: in the stage's directory */
int helpers__fork_server(struct fixture *stage);

#endif
