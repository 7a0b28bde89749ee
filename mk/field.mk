# SPDX-License-Identifier: GPL-2.0
# Cases from the field: faults that people reported, with the real software. Installs what it needs.
#
#   make field                    all, into the table of docs/verdicts.md
#   make field T=quota            only these
#   make field FIELD_COLUMN=before JANKBPF=/path/of/another/jankbpf    the column of an earlier build
#
# `make check` runs the short form of those in FIELD_SHORT: seconds each, with FIELD=short.

FIELD_COLUMN ?= now
FIELD_T       = $(call ONLY,$(sort $(wildcard tests/field/*.t)))
FIELD_SHORT  := frozen quota want_of_cpu
FIELD_SHORT_T = $(filter $(FIELD_SHORT:%=tests/field/%.t),$(FIELD_T))
FIELD_OUT    := $(OUT)/field.jsonl

field: TEST_TIMEOUT = 1800
field: all #:measure cases from the field, into docs/verdicts.md (as root)
	$(Q)deps/install build test verdicts field
	$(Q)rm -f $(FIELD_OUT)
	-$(Q)FIELD_RESULTS=$(abspath $(FIELD_OUT)) $(if $(JANKBPF),JANKBPF=$(JANKBPF)) $(call RUN_TESTS,$(FIELD_T))
	$(Q)tests/field/table $(FIELD_COLUMN) $(FIELD_OUT)

.PHONY: field
