# SPDX-License-Identifier: GPL-2.0
# The man page: docs/jankbpf.8.in with parts from the program's own tables.

MAN       := $(VARIANT)/jankbpf.8
TEXTS     := $(VARIANT)/command_texts
MAN_PARTS := options synopsis commands

# Builds for other machines do not need it; `install` does.
all: $(if $(STATIC)$(CROSS_COMPILE),,doc)

-include $(VARIANT)/tools/command_texts.d

doc: $(MAN) #:build the man page, under .output/

$(TEXTS): $(VARIANT)/tools/command_texts.o $(patsubst %.c,$(VARIANT)/%.o,$(wildcard user/options/*.c)) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

ifneq ($(CROSS_COMPILE),)
$(MAN): FORCE
	$(Q)$(MAKE) CROSS_COMPILE= STATIC= SANITIZE= doc
	$(Q)mkdir -p $(@D); cp .output/rel/$(@F) $@
else
$(MAN): docs/jankbpf.8.in $(TEXTS)
	$(call msg,MAN,$@)
	$(Q)for part in $(MAN_PARTS); do $(TEXTS) $$part > $@.$$part || exit 1; done
	$(Q)sed -e 's/@VERSION@/$(VERSION)/' -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' \
		-e '/^@SYNOPSIS@$$/{r $@.synopsis' -e 'd}' -e '/^@COMMANDS@$$/{r $@.commands' -e 'd}' $< > $@
endif

install: install-man
install-man: $(MAN)
	$(call msg,INSTALL,$(DESTDIR)$(MANDIR)/man8/jankbpf.8)
	$(Q)$(INSTALL) -D -m 644 $(MAN) $(DESTDIR)$(MANDIR)/man8/jankbpf.8

uninstall: uninstall-man
uninstall-man:
	$(Q)rm -f $(DESTDIR)$(MANDIR)/man8/jankbpf.8

FORCE:

.PHONY: doc FORCE install-man uninstall-man
