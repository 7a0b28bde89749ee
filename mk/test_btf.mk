# SPDX-License-Identifier: GPL-2.0
# Do the files of btf/ have all types that the probes read? Those of another architecture are
# checked if its probes are built. Part of the unit tests; included after mk/test.mk, because it
# extends its list.

BTF_T := $(call ONLY,tests/btf/fits.t)

unit-bin: $(if $(BTF_T),$(SKEL) $(BTF_HELPER))
UNIT_BIN += $(BTF_T)

# tests/live/btf.t minimises types by it
live: $(BTF_HELPER)
