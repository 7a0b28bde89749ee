# SPDX-License-Identifier: GPL-2.0
# The HTTP server and the zip files of `jankbpf serve`, if the headers of libmicrohttpd and libarchive
# are there; the libraries are loaded on demand (user/serve/mhd.c, archive.c). Static programs load no
# library, and builds for other machines do not look for the headers.

have_library = $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists $(1) 2>/dev/null && echo y))
SERVE_DEFS  := $(if $(call have_library,libmicrohttpd),-DHAVE_MICROHTTPD) \
               $(if $(call have_library,libarchive),-DHAVE_LIBARCHIVE)

$(VARIANT)/user/serve/%.o $(VARIANT)/tests/unit/test_serve%: CPPFLAGS += $(SERVE_DEFS)
