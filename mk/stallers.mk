# SPDX-License-Identifier: GPL-2.0
# The programs of tests/loops/ that tests/live/loops.t traces, each over a real library's loop. A
# program whose library is not installed is left out, and the test says so. With frame pointers,
# like the tools.

STALL_DIR := $(OUT)/loops
STALL_FLAGS = -O2 -g -Wall -Wextra -Wno-unused-parameter -Itests/loops $(TOOL_FLAGS)
STALL_PLAIN := glib nested gtk uv event ev sdevent wayland uring raw client
STALL_QT := qt5core qt5gui qt6core qt6gui
STALLERS := $(addprefix $(STALL_DIR)/,$(STALL_PLAIN) $(STALL_QT) raw-musl)

# The program's pkg-config name; NEEDS: a file, if it has none.
$(STALL_DIR)/glib $(STALL_DIR)/nested: PKG := glib-2.0
$(STALL_DIR)/gtk: PKG := gtk+-3.0 x11 xtst
$(STALL_DIR)/uv: PKG := libuv
$(STALL_DIR)/event: PKG := libevent
$(STALL_DIR)/ev: NEEDS := /usr/include/ev.h
$(STALL_DIR)/ev: LIBS := -lev
$(STALL_DIR)/sdevent: PKG := libsystemd
$(STALL_DIR)/wayland: PKG := wayland-server wayland-client
$(STALL_DIR)/uring: PKG := liburing
$(STALL_DIR)/qt5core: PKG := Qt5Core
$(STALL_DIR)/qt5gui: PKG := Qt5Gui
$(STALL_DIR)/qt6core: PKG := Qt6Core
$(STALL_DIR)/qt6gui: PKG := Qt6Gui
$(STALL_DIR)/qt%gui: STALL_FLAGS += -DQT_STALL_GUI
$(STALL_DIR)/raw-musl: NEEDS := /usr/bin/musl-gcc

# loop-build COMPILER: libraries' headers count as system headers, so that their warnings are off.
define loop-build
@mkdir -p $(@D)
$(Q)if $(if $(PKG),pkg-config --exists $(PKG),[ -e $(or $(NEEDS),/) ]); then \
	$(if $(Q),printf '  %-8s %s\n' STALLER $@;) $(1) $(STALL_FLAGS) \
	$(if $(PKG),$$(pkg-config --cflags $(PKG) | sed 's/-I/-isystem /g')) \
	-o $@ $< $(LIBS) $(if $(PKG),$$(pkg-config --libs $(PKG))); \
else echo '  SKIP     $@: no $(or $(PKG),$(NEEDS))'; fi
endef

$(STALL_DIR)/%: tests/loops/%.c tests/loops/stall.h
	$(call loop-build,$(CC) -std=gnu11 -D_GNU_SOURCE)

$(STALL_DIR)/qt%: tests/loops/qt.cc tests/loops/stall.h
	$(call loop-build,$(CXX) -std=gnu++17 -fPIC)

$(STALL_DIR)/raw-musl: tests/loops/raw.c tests/loops/stall.h
	$(call loop-build,musl-gcc -std=gnu11 -D_GNU_SOURCE -static)

# --- other languages

STALL_JAVA  := $(STALL_DIR)/java/Nio.class
STALL_NETTY := $(STALL_DIR)/java/Netty.class
STALL_GO    := $(STALL_DIR)/netpoll
STALL_RUST  := $(STALL_DIR)/tokio-stall
STALLERS    += $(STALL_JAVA) $(STALL_NETTY) $(STALL_GO) $(STALL_RUST)
NETTY_JARS  := $(foreach part,buffer common resolver transport,/usr/share/java/netty-$(part).jar)
RUST_FRAMES := -C force-frame-pointers=yes
DEBIAN_CRATES := /usr/share/cargo/registry

# stall-unless MISSING, COMMAND
define stall-unless
@mkdir -p $(@D)
$(Q)if $(1); then echo '  SKIP     $@: $(2)'; else $(if $(Q),printf '  %-8s %s\n' STALLER $@;) $(3); fi
endef
space := $(subst ,, )

$(STALL_DIR)/java/%.class: tests/loops/java/%.java tests/loops/java/Stall.java
	$(call stall-unless,! command -v javac >/dev/null$(JARS:%= || [ ! -e % ]),no javac or Netty,\
		javac -d $(@D) -cp '$(subst $(space),:,$(strip $(JARS)))' $^)

$(STALL_NETTY): JARS := $(NETTY_JARS)

$(STALL_GO): tests/loops/netpoll.go
	$(call stall-unless,! command -v go >/dev/null,no Go compiler,\
		GOCACHE=$(abspath $(STALL_DIR))/go-cache go build -o $@ $<)

# Only Debian's crates, so nothing is fetched; built in a copy, because cargo writes its lock file
# there.
$(STALL_RUST): $(wildcard tests/loops/tokio/*.toml tests/loops/tokio/src/*.rs)
	$(call stall-unless,[ ! -x /usr/bin/cargo ] || ! ls $(DEBIAN_CRATES) 2>/dev/null | grep -q '^tokio-1',no cargo or tokio,\
		rm -rf $(STALL_DIR)/tokio; cp -r tests/loops/tokio $(STALL_DIR)/ && cd $(STALL_DIR)/tokio && \
		PATH=/usr/bin:/bin CARGO_HOME=$(abspath $(STALL_DIR))/cargo-home \
		RUSTFLAGS='$(RUST_FRAMES)' cargo build --quiet --release --offline \
		--target-dir ../cargo-target --config 'source.crates-io.replace-with="debian"' \
		--config 'source.debian.directory="$(DEBIAN_CRATES)"' && cp ../cargo-target/release/tokio-stall ..)

stallers: $(STALLERS) #:measure programs over the event loops of many libraries, for the tests

.PHONY: stallers
