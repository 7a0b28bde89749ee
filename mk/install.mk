# SPDX-License-Identifier: GPL-2.0
# make install PREFIX=/usr DESTDIR=/tmp/package, and the list of targets.

INSTALL ?= install
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share

install: program #:build into DESTDIR and PREFIX
	$(call msg,INSTALL,$(DESTDIR)$(BINDIR)/jankbpf)
	$(Q)$(INSTALL) -D -m 755 $(VARIANT)/jankbpf $(DESTDIR)$(BINDIR)/jankbpf

uninstall: #:build remove the installed files
	$(Q)rm -f $(DESTDIR)$(BINDIR)/jankbpf

# A target is listed if "#:GROUP text" follows it; without a known group, it comes last.
HELP_GROUPS := build:Build packages:Packages~(as~root) tests:Tests machines:Other~machines~and~kernels measure:Measure sources:Generated~sources

help: #:build this list
	@awk -v groups='$(HELP_GROUPS)' ' \
		/^[a-z][a-z0-9_.-]*:.*#:[a-z]* / { \
			target = $$1; sub(/:.*/, "", target); match($$0, /#:[a-z]* /); \
			group = substr($$0, RSTART + 2, RLENGTH - 3); \
			list[group] = list[group] sprintf("  make %-22s %s\n", target, substr($$0, RSTART + RLENGTH)); \
		} \
		END { \
			n = split(groups, each, " "); \
			for (i = 1; i <= n; i++) { \
				split(each[i], part, ":"); gsub(/~/, " ", part[2]); \
				printf "%s%s\n%s", (i > 1 ? "\n" : ""), part[2], list[part[1]]; delete list[part[1]]; \
			} \
			for (group in list) printf "\nMore\n%s", list[group]; \
		}' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables'
	@echo '  V=1                                shows the commands'
	@echo '  STATIC=1                           one file without dependencies: jankbpf-$(MACHINE)'
	@echo '  CROSS_COMPILE=aarch64-linux-gnu-   for another machine, with STATIC=1 or without'
	@echo '  SANITIZE=address,undefined         with the sanitizers'
	@echo '  PREFIX= DESTDIR=                   where install puts it'
	@echo '  T=NAME                             picks tests'

.PHONY: install uninstall help
