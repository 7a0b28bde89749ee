# SPDX-License-Identifier: GPL-2.0
# Debug files from servers, where libdebuginfod's header is; it is loaded only when it is wanted (fetch.c). Static programs
# load nothing, and another machine's is not looked for.

HAVE_DEBUGINFOD := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists libdebuginfod 2>/dev/null && echo y))

ifneq ($(HAVE_DEBUGINFOD),)
$(VARIANT)/user/symbol/modules/fetch.o: CPPFLAGS += -DHAVE_DEBUGINFOD
endif
