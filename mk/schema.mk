# SPDX-License-Identifier: GPL-2.0
# schema/*.proto: the records' encoding (protoc-c), and what schema/generate.py makes of the descriptors and fields.tbl.

PROTOC      ?= protoc
PROTOC_C    ?= protoc-c
# The distribution's Python, which has python3-protobuf.
PYTHON      ?= /usr/bin/python3
PROTOS      := $(wildcard schema/*.proto)
PB          := $(PROTOS:schema/%.proto=$(OUT)/schema/%.pb-c)
PB_H        := $(PB:=.h)
DESCRIPTORS := $(OUT)/schema/descriptors.pb
SCHEMA_INC  := $(OUT)/json_schema.inc
SCHEMA_OBJ  := $(PB:$(OUT)/%=$(VARIANT)/%.o) $(VARIANT)/schema/fields.o
generate     = $(Q)$(PYTHON) schema/generate.py $(DESCRIPTORS) $(1)

$(OUT)/schema/%.pb-c.c $(OUT)/schema/%.pb-c.h &: schema/%.proto
	@mkdir -p $(@D)
	$(call msg,PROTO,$<)
	$(Q)$(PROTOC_C) --proto_path=. --c_out=$(OUT) $<

$(DESCRIPTORS): schema/blockinfo.proto
	@mkdir -p $(@D)
	$(call msg,PROTO,$@)
	$(Q)$(PROTOC) --include_source_info --descriptor_set_out=$@ $<

$(OUT)/schema/fields.c: $(DESCRIPTORS) schema/generate.py schema/fields.tbl
	$(call msg,GEN,$@)
	$(call generate,fields) >$@

$(OUT)/schema/schema.json: $(DESCRIPTORS) schema/generate.py schema/fields.tbl
	$(call msg,GEN,$@)
	$(call generate,schema) >$@

# One C string literal for each line.
$(SCHEMA_INC): $(OUT)/schema/schema.json
	$(call msg,GEN,$@)
	$(Q)sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $< > $@

$(VARIANT)/user/export/json/json.o: $(SCHEMA_INC)

# The generated code has unused parameters and the like.
$(VARIANT)/schema/%.o: $(OUT)/schema/%.c $(PB_H) $(VARIANT)/cflags
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(LIB): $(SCHEMA_OBJ)

# Before the first build, no dependency file says which sources include them.
$(OBJ) $(SCHEMA_OBJ): | $(PB_H)

docs-record: $(DESCRIPTORS) #:sources docs/record.md, docs/losses.md, web/losses.js, schema.sql, from the schema
	$(call generate,record) >docs/record.md
	$(call generate,losses) >docs/losses.md
	$(call generate,losses_js) >web/losses.js
	$(call generate,sql) >$(OUT)/schema.sql
	$(Q)cp $(OUT)/schema.sql deploy/clickhouse/schema.sql

.PHONY: docs-record
