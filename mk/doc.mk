# SPDX-License-Identifier: GPL-2.0
# The man page (docs/jankbpf.8.in with parts from the program's own tables), and the completions of shells.

MAN       := $(VARIANT)/jankbpf.8
TEXTS     := $(VARIANT)/command_texts
MAN_PARTS := options synopsis commands
SHELLS    := bash zsh fish
COMPLETIONS := $(SHELLS:%=$(VARIANT)/jankbpf.%)

# Builds for other machines do not need it; `install` does.
all: $(if $(STATIC)$(CROSS_COMPILE),,doc)

-include $(VARIANT)/tools/command_texts.d

doc: $(MAN) $(COMPLETIONS) #:build the man page and the shells' completions, under .output/

$(TEXTS): $(VARIANT)/tools/command_texts.o $(patsubst %.c,$(VARIANT)/%.o,$(wildcard user/options/*.c)) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

ifneq ($(CROSS_COMPILE),)
$(MAN) $(COMPLETIONS): FORCE
	$(Q)$(MAKE) CROSS_COMPILE= STATIC= SANITIZE= doc
	$(Q)mkdir -p $(@D); cp .output/rel/$(@F) $@
else
$(MAN): docs/jankbpf.8.in $(TEXTS)
	$(call msg,MAN,$@)
	$(Q)for part in $(MAN_PARTS); do $(TEXTS) $$part > $@.$$part || exit 1; done
	$(Q)sed -e 's/@VERSION@/$(VERSION)/' -e '/^@OPTIONS@$$/{r $@.options' -e 'd}' \
		-e '/^@SYNOPSIS@$$/{r $@.synopsis' -e 'd}' -e '/^@COMMANDS@$$/{r $@.commands' -e 'd}' $< > $@

$(COMPLETIONS): $(TEXTS)
	$(call msg,GEN,$@)
	$(Q)$(TEXTS) $(@:$(VARIANT)/jankbpf.%=%) > $@
endif

install: install-man install-completions
install-man: $(MAN)
	$(call msg,INSTALL,$(DESTDIR)$(MANDIR)/man8/jankbpf.8)
	$(Q)$(INSTALL) -D -m 644 $(MAN) $(DESTDIR)$(MANDIR)/man8/jankbpf.8

# Where each shell looks, below share/.
BASH_FILE := bash-completion/completions/jankbpf
ZSH_FILE  := zsh/site-functions/_jankbpf
FISH_FILE := fish/vendor_completions.d/jankbpf.fish

install-completions: $(COMPLETIONS)
	$(call msg,INSTALL,$(DESTDIR)$(DATADIR)/{$(BASH_FILE)$(comma)$(ZSH_FILE)$(comma)$(FISH_FILE)})
	$(Q)$(INSTALL) -D -m 644 $(VARIANT)/jankbpf.bash $(DESTDIR)$(DATADIR)/$(BASH_FILE)
	$(Q)$(INSTALL) -D -m 644 $(VARIANT)/jankbpf.zsh $(DESTDIR)$(DATADIR)/$(ZSH_FILE)
	$(Q)$(INSTALL) -D -m 644 $(VARIANT)/jankbpf.fish $(DESTDIR)$(DATADIR)/$(FISH_FILE)

uninstall: uninstall-doc
uninstall-doc:
	$(Q)rm -f $(DESTDIR)$(MANDIR)/man8/jankbpf.8 $(addprefix $(DESTDIR)$(DATADIR)/,$(BASH_FILE) $(ZSH_FILE) $(FISH_FILE))

FORCE:

.PHONY: doc FORCE install-man install-completions uninstall-doc
