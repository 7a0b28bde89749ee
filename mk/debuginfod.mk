# SPDX-License-Identifier: GPL-2.0
# Debug files from servers, if libdebuginfod's header is there; the library is loaded on demand
# (debuginfod.c). Static programs load no library, and builds for other machines do not look for the
# header.

HAVE_DEBUGINFOD := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists libdebuginfod 2>/dev/null && echo y))

ifneq ($(HAVE_DEBUGINFOD),)
$(VARIANT)/user/symbol/modules/debuginfod.o: CPPFLAGS += -DHAVE_DEBUGINFOD
endif
