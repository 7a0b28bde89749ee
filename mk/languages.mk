# SPDX-License-Identifier: GPL-2.0
# Names of functions in programs of languages with a runtime, for several versions of it.

NODE_VERSIONS ?= 16 18 20 22 24
LANGUAGES     := $(OUT)/languages
NODES         := $(NODE_VERSIONS:%=$(LANGUAGES)/%/node_modules/node/bin/node)
# the machine's own; "make languages NODES= JAVAS=PATH" measures another one
JAVAS         ?= $(wildcard /usr/lib/jvm/java-*-openjdk-*/bin/java /usr/lib/jvm/temurin-*/bin/java)
PYTHONS       ?= $(wildcard /usr/bin/python3)
RUBIES        ?= $(wildcard /usr/bin/ruby)

$(LANGUAGES)/%/node_modules/node/bin/node:
	@mkdir -p $(LANGUAGES)/$*
	$(call msg,NPM,node@$*)
	$(Q)cd $(LANGUAGES)/$* && npm install --silent --no-fund --no-audit --prefix . node@$* >/dev/null

languages: all $(NODES) #:measure names of functions of Node (five versions: downloads them), Java, Python, Ruby (as root)
	$(Q)tests/languages/matrix.py $(NODES:%=node=%) $(JAVAS:%=java=%) $(JAVAS:%=java=%,-Xint) $(PYTHONS:%=python=%) \
		$(RUBIES:%=ruby=%)

.PHONY: languages
