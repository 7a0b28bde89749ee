# SPDX-License-Identifier: GPL-2.0
# Tests with what a fleet reports to: Prometheus, ClickHouse, OpenTelemetry.

check-fleet: all #:tests what needs backends, T=NAME for one (make deps-fleet)
	$(Q)PERL5LIB=tests/lib prove $(or $(T:%=tests/fleet/%.t),tests/fleet/*.t)

.PHONY: check-fleet
