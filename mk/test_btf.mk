# SPDX-License-Identifier: GPL-2.0
# Whether the files of btf/ answer what the probes read. Those of another architecture are looked at when its
# probes are built. Part of the unit tests; after mk/test.mk, whose list it joins.

BTF_T := $(call ONLY,tests/btf/fits.t)

unit-bin: $(if $(BTF_T),$(SKEL) $(BTF_HELPER) $(OUT)/calibrate.bpf.o)
UNIT_BIN += $(BTF_T)

# tests/live/btf.t minimises by it
live: $(BTF_HELPER)
