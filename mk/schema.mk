# SPDX-License-Identifier: GPL-2.0
# user/export/schema.json as a C string literal, one for each line.

SCHEMA_INC := $(OUT)/json_schema.inc

$(SCHEMA_INC): user/export/schema.json
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $< > $@

$(VARIANT)/user/export/schema.o: $(SCHEMA_INC)
