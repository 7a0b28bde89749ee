# SPDX-License-Identifier: GPL-2.0
# web/: the pages of `jankbpf report --format html` and `jankbpf serve`. web/bundle.py makes one file of the parts of each, as
# C string literals.

WEB_SRC  := $(filter-out %.mjs,$(wildcard web/*))
PAGE_INC := $(OUT)/report_head.inc $(OUT)/report_tail.inc $(OUT)/serve_page.inc $(OUT)/serve_policy.inc

$(PAGE_INC) &: $(WEB_SRC)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)$(PYTHON) web/bundle.py $(PAGE_INC)

$(VARIANT)/user/export/report/html.o $(VARIANT)/user/serve/http.o $(VARIANT)/user/serve/answers.o: $(PAGE_INC)

# --- the page's own tests: not part of `make check`, which needs neither npm nor a browser

ESLINT := $(OUT)/web/node_modules/.bin/eslint

$(ESLINT):
	@mkdir -p $(OUT)/web
	$(call msg,NPM,eslint)
	$(Q)npm install --prefix $(OUT)/web --silent --no-audit --no-fund --no-package-lock eslint@9 @eslint/js@9

# The rules import a module, which is looked for beside their file.
lint-web: $(ESLINT)
	$(Q)cp web/eslint.config.mjs $(OUT)/web/
	$(Q)$(ESLINT) -c $(OUT)/web/eslint.config.mjs web

check-web: lint-web program #:tests the pages of report and serve: eslint (by npm), and a headless Chromium (make deps-web)
	$(Q)$(call RUN_TESTS,tests/web/page.t tests/web/serve.t tests/web/serve_token.t)

screenshots: program tools #:sources docs/images, of a traced simjank and redis (as root)
	$(Q)$(PYTHON) tests/web/screenshots.py docs/images

.PHONY: lint-web check-web screenshots
