# SPDX-License-Identifier: GPL-2.0
# The screen of `jankbpf top` by ncurses; static programs and builds for other machines draw by
# escape sequences (screen_ansi.c).

HAVE_NCURSES := $(if $(STATIC)$(CROSS_COMPILE),,$(shell pkg-config --exists ncursesw 2>/dev/null && echo y))

ifneq ($(HAVE_NCURSES),)
$(VARIANT)/user/export/top/screen_curses.o $(VARIANT)/user/export/top/screen_ansi.o: CPPFLAGS += -DHAVE_NCURSES -DNCURSES_WIDECHAR=1
LDLIBS += -lncursesw -ltinfo
endif
