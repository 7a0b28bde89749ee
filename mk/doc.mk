# SPDX-License-Identifier: GPL-2.0
# schema/options.tbl: the tables of commands and options in C, the man page (docs/jankbpf.8.in with their parts), and the
# completions of shells. schema/options.py makes them without the program, which a cross build cannot run.

MAN         := $(VARIANT)/jankbpf.8
SHELLS      := bash zsh fish
COMPLETIONS := $(SHELLS:%=$(VARIANT)/jankbpf.%)
OPTIONS_SRC := schema/options.py schema/options.tbl $(SHELLS:%=schema/completion/%)
# Metrics are not served by default without the library of mk/serve.mk.
options      = $(Q)$(PYTHON) schema/options.py $(1) VERSION=$(VERSION) \
               METRICS_LISTEN=$(if $(findstring HAVE_MICROHTTPD,$(SERVE_DEFS)),127.0.0.1:9435,off) > $@

all: doc

doc: $(MAN) $(COMPLETIONS) #:build the man page and the shells' completions, under .output/

$(VARIANT)/options.inc: $(OPTIONS_SRC)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(call options,table)

$(VARIANT)/user/options/options_table.o: $(VARIANT)/options.inc
$(VARIANT)/user/options/options_table.o: CPPFLAGS += -I$(VARIANT)

$(MAN): docs/jankbpf.8.in $(OPTIONS_SRC)
	@mkdir -p $(@D)
	$(call msg,MAN,$@)
	$(call options,man $<)

$(COMPLETIONS): $(OPTIONS_SRC)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(call options,$(@:$(VARIANT)/jankbpf.%=%))

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

.PHONY: doc install-man install-completions uninstall-doc
