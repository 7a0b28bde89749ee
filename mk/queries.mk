# SPDX-License-Identifier: GPL-2.0
# deploy/clickhouse/queries, which user/fleet has as C string literals.

FLEET_SQL := $(sort $(wildcard deploy/clickhouse/queries/*.sql))
FLEET_INC := $(OUT)/fleet_queries.inc

# One entry for each file, one literal for each line.
$(FLEET_INC): $(FLEET_SQL)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)for sql in $(FLEET_SQL); do \
		echo "{ \"$$(basename $$sql .sql)\","; sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $$sql; echo "},"; \
	done > $@

$(VARIANT)/user/fleet/query.o: $(FLEET_INC)
