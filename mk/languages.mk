# SPDX-License-Identifier: GPL-2.0
# Names of functions in programs of languages with a runtime, for several versions of it.

NODE_VERSIONS ?= 16 18 20 22 24
LANGUAGES     := $(OUT)/languages
NODES         := $(NODE_VERSIONS:%=$(LANGUAGES)/%/node_modules/node/bin/node)
# the machine's own; "make languages NODES= JAVAS=PATH" measures another one
JAVAS         ?= $(wildcard /usr/lib/jvm/java-*-openjdk-*/bin/java /usr/lib/jvm/temurin-*/bin/java)
# Debian's of other suites, in folders of their own
JAVA_VERSIONS ?= 11 21
OTHER_JAVAS   := $(JAVA_VERSIONS:%=$(LANGUAGES)/java-%/java)
PYTHONS       ?= $(wildcard /usr/bin/python3)
RUBIES        ?= $(wildcard /usr/bin/ruby)

$(LANGUAGES)/%/node_modules/node/bin/node:
	@mkdir -p $(LANGUAGES)/$*
	$(call msg,NPM,node@$*)
	$(Q)cd $(LANGUAGES)/$* && npm install --silent --no-fund --no-audit --prefix . node@$* >/dev/null

$(LANGUAGES)/java-%/java:
	@mkdir -p $(@D)
	$(call msg,APT,openjdk-$*)
	$(Q)tests/languages/get_java.py $* $(@D) || echo '  SKIP     JDK $*'

languages: all $(NODES) $(OTHER_JAVAS) #:measure names of functions of Node, Java (downloads versions), Python, Ruby (as root)
	$(Q)javas="$(JAVAS) $$(ls $(OTHER_JAVAS) 2>/dev/null)"; tests/languages/matrix.py $(NODES:%=node=%) \
		$$(for java in $$javas; do echo java=$$java java=$$java,-Xint; done) $(PYTHONS:%=python=%) $(RUBIES:%=ruby=%)

.PHONY: languages
