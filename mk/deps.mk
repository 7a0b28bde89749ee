# SPDX-License-Identifier: GPL-2.0
# Debian's packages, from the one list deps/packages.txt. Quick and offline when nothing is missing.
# `deps-build` asks for no test or bench package, so that a first build installs no server.

deps: #: install the Debian packages that are missing (as root)
	$(Q)deps/install

deps-build: #: the same, only what the build needs
	$(Q)deps/install build

deps-test: #: the same, for build and tests
	$(Q)deps/install build test

.PHONY: deps deps-build deps-test
