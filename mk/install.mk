# SPDX-License-Identifier: GPL-2.0
# make install PREFIX=/usr DESTDIR=/tmp/package, and the list of targets.

INSTALL ?= install
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man

install: program #: into DESTDIR and PREFIX
	$(call msg,INSTALL,$(DESTDIR)$(SBINDIR)/jankbpf)
	$(Q)$(INSTALL) -D -m 755 $(VARIANT)/jankbpf $(DESTDIR)$(SBINDIR)/jankbpf

uninstall: #: take it away again
	$(Q)rm -f $(DESTDIR)$(SBINDIR)/jankbpf

# A target is listed when a "#: text" stands behind it.
help: #: this list
	@sed -n 's/^\([a-z][a-z-]*\):.*#: *\(.*\)$$/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
	@echo
	@echo '  V=1                                shows the commands'
	@echo '  STATIC=1                           one file that needs nothing beside it: jankbpf-$(MACHINE)'
	@echo '  CROSS_COMPILE=aarch64-linux-gnu-   for another machine, with STATIC=1 or without'
	@echo '  SANITIZE=address,undefined         with the sanitizers'
	@echo '  PREFIX= DESTDIR=                   where install puts it'
	@echo '  T=NAME                             picks tests'

.PHONY: install uninstall help
