# SPDX-License-Identifier: GPL-2.0
# web/: the page of `jankbpf report --format html`. web/bundle.py makes one file of its parts, as two C string literals: what
# comes before the data and what comes after.

WEB_SRC  := $(wildcard web/*)
PAGE_INC := $(OUT)/report_head.inc $(OUT)/report_tail.inc

$(PAGE_INC) &: $(WEB_SRC)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)$(PYTHON) web/bundle.py $(PAGE_INC)

$(VARIANT)/user/export/report/html.o: $(PAGE_INC)
