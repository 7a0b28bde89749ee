# SPDX-License-Identifier: GPL-2.0
# Names of functions in programs of languages with a runtime, for several versions of it.

NODE_VERSIONS ?= 16 18 20 22 24
LANGUAGES     := $(OUT)/languages
NODES         := $(NODE_VERSIONS:%=$(LANGUAGES)/%/node_modules/node/bin/node)

$(LANGUAGES)/%/node_modules/node/bin/node:
	@mkdir -p $(LANGUAGES)/$*
	$(call msg,NPM,node@$*)
	$(Q)cd $(LANGUAGES)/$* && npm install --silent --no-fund --no-audit --prefix . node@$* >/dev/null

languages: all $(NODES) #:measure names of functions in five versions of Node (as root; downloads them)
	$(Q)tests/languages/matrix.py $(NODES)

.PHONY: languages
