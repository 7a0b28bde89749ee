/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libmicrohttpd, loaded when a server starts. Linking it would also load GnuTLS for every other
 * command and process of ours: 3 MB of memory and milliseconds at each start.
 */
#ifndef JANK_SERVE_MHD_H
#define JANK_SERVE_MHD_H

#include "base/err.h"

#ifdef HAVE_MICROHTTPD
#define MHD_NO_DEPRECATION 1 /* newer ones have other functions beside those used here */
#include <microhttpd.h>

#define MHD_FUNCTIONS(X)                                                                           \
	X(start_daemon)                                                                            \
	X(stop_daemon)                                                                             \
	X(run)                                                                                     \
	X(get_timeout)                                                                             \
	X(get_daemon_info)                                                                         \
	X(get_connection_info)                                                                     \
	X(set_connection_option)                                                                   \
	X(suspend_connection)                                                                      \
	X(resume_connection)                                                                       \
	X(lookup_connection_value)                                                                 \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(add_response_header)                                                                     \
	X(basic_auth_get_username_password)                                                        \
	X(free)                                                                                    \
	X(is_feature_supported)                                                                    \
	X(queue_response)                                                                          \
	X(destroy_response)

#define MHD_MEMBER(name) __typeof__(MHD_##name) *name;
struct mhd_library {
	MHD_FUNCTIONS(MHD_MEMBER)
};

extern struct mhd_library mhd;

/* 0, or -ENOENT with a message that names the package. */
int mhd__load(struct err *err);

#endif
#endif
