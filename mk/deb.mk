# SPDX-License-Identifier: GPL-2.0
# Debian packages, built by debhelper in a copy of the tree: jankbpf, and jankbpf-agent with the service.
# MAINTAINER="Name <address>" names who answers for them.

DEB_DIR    := $(OUT)/deb
DEB_SOURCE := $(DEB_DIR)/jankbpf-$(VERSION)
MAINTAINER ?= jankbpf maintainers <maintainers@jankbpf.example>

# What the build needs is in one list; of alternatives, the first is Debian's.
BUILD_DEPENDS = $(shell awk '$$2 == "build" { sub(/\|.*/, "", $$1); printf "%s%s", (n++ ? ", " : ""), $$1 }' deps/packages.txt)
DEB_FILL = sed -e 's/@MAINTAINER@/$(MAINTAINER)/' -e 's/@BUILD_DEPENDS@/$(BUILD_DEPENDS)/'
SOURCES  = $(if $(wildcard .git),git ls-files -z,find . -path ./.output -prune -o -type f -print0)

deb: #:build Debian packages, in .output/deb
	$(Q)deps/install build deb
	$(Q)grep -q '^jankbpf ($(VERSION))' deploy/debian/changelog.in || \
		{ echo "deploy/debian/changelog.in: has no entry of version $(VERSION)"; exit 1; }
	$(Q)rm -rf $(DEB_DIR) && mkdir -p $(DEB_SOURCE)
	$(Q)$(SOURCES) | tar -c --null -T - | tar -x -C $(DEB_SOURCE)
	$(Q)cp -r deploy/debian $(DEB_SOURCE)/debian
	$(Q)for file in control changelog; do \
		$(DEB_FILL) $(DEB_SOURCE)/debian/$$file.in > $(DEB_SOURCE)/debian/$$file && \
		rm $(DEB_SOURCE)/debian/$$file.in || exit 1; done
	$(Q)cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b -j$(shell nproc)
	$(Q)ls -l $(DEB_DIR)/*.deb

check-deb: all #:tests build the packages, and install, upgrade and purge them in a clean Debian (make deps-fleet)
	$(Q)prove tests/packages/deb.t

.PHONY: deb check-deb
