# SPDX-License-Identifier: GPL-2.0
# Debian's packages, from the one list deps/packages.txt. Quick and offline if nothing is missing.
# `deps-build` installs only what a first build needs: no server, no cross compiler.

deps: #:packages install the Debian packages that are missing (as root)
	$(Q)deps/install

deps-build: #:packages the same, only what the build needs
	$(Q)deps/install build

deps-test: #:packages the same, for build and tests
	$(Q)deps/install build test

deps-cross: #:packages the same, for the build for arm64
	$(Q)deps/install cross

deps-vm: #:packages the same, for the virtual machines of check-vm
	$(Q)deps/install vm

deps-runtime: #:packages the same, for the tests of Go's and Tokio's loops
	$(Q)deps/install runtime

deps-verdicts: #:packages the same, for the servers of make verdicts
	$(Q)deps/install verdicts

deps-web: #:packages the same, for make check-web
	$(Q)deps/install web

deps-fleet: #:packages the same, for the tests of agents with Prometheus
	$(Q)deps/install deb fleet

.PHONY: deps deps-build deps-test deps-cross deps-vm deps-runtime deps-verdicts deps-web deps-fleet
