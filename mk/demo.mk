# SPDX-License-Identifier: GPL-2.0
# From a fresh machine to blocks on the terminal: packages, build, ten seconds of known jank.

DEMO_TIME ?= 10s

# simjank's helpers are not traced: they would have blocks of their own, because a hog is busy in
# each of its turns.
DEMO = jankbpf -t 25ms -d $(DEMO_TIME) --no-follow -- ./simjank

demo: #:build packages, build, and ten seconds of simjank under jankbpf (as root)
	$(Q)if [ "$$(id -u)" != 0 ]; then echo 'demo: tracing needs root: sudo make demo' >&2; exit 77; fi
	$(Q)deps/install build
	$(Q)$(MAKE) $(JOBS) all
	@echo '  RUN      ./$(DEMO)'
	@echo 'simjank stalls its event loop on purpose, for a different reason each time. Each block below is one stall. The'
	@echo 'processes that it starts to cause some of them (hog, server, ...) are named as the culprits, and are not traced.'
	$(Q)./$(DEMO)

demo-fleet: #:build the same of a fleet: agent, Prometheus, ClickHouse, three programs (as root)
	$(Q)if [ "$$(id -u)" != 0 ]; then echo 'demo-fleet: tracing needs root: sudo make demo-fleet' >&2; exit 77; fi
	$(Q)deps/install build test fleet
	$(Q)$(MAKE) $(JOBS) all
	$(Q)tools/demo_fleet

.PHONY: demo demo-fleet
