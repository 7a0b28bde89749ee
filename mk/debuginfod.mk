# SPDX-License-Identifier: GPL-2.0
# Debug files from servers, where libdebuginfod is. It has no static library, and another machine's is not looked for.

HAVE_DEBUGINFOD := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists libdebuginfod 2>/dev/null && echo y))

ifneq ($(HAVE_DEBUGINFOD),)
LDLIBS += -ldebuginfod
$(VARIANT)/user/symbol/fetch.o: CPPFLAGS += -DHAVE_DEBUGINFOD
endif
