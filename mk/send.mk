# SPDX-License-Identifier: GPL-2.0
# The HTTP client that sends records to backends, if libcurl's header is there; the library is loaded
# on demand (user/send/http.c). Static programs load no library, and builds for other machines do not
# look for the header.

HAVE_CURL := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists libcurl 2>/dev/null && echo y))

ifneq ($(HAVE_CURL),)
$(VARIANT)/user/send/http.o $(VARIANT)/user/send/sender.o $(VARIANT)/user/cli/cmd_fleet.o $(VARIANT)/tests/unit/test_http: CPPFLAGS += -DHAVE_CURL
endif

# Batches of the spool.
HAVE_ZSTD := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists libzstd 2>/dev/null && echo y))

ifneq ($(HAVE_ZSTD),)
$(VARIANT)/user/export/spool/spool_format.o $(VARIANT)/tests/unit/test_send: CPPFLAGS += -DHAVE_ZSTD
LDLIBS += -lzstd
endif
