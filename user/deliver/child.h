/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptors that the process gets, besides stdout and stderr. */
#ifndef JANK_DELIVER_CHILD_H
#define JANK_DELIVER_CHILD_H

#define DELIVER_SOCKET_FD   0
#define DELIVER_PROGRESS_FD 3

#endif
