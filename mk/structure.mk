# SPDX-License-Identifier: GPL-2.0
# Structure of user/ in figures: files, headers of one user, cycles, wide lines.

structure: #:measure files, headers and calls of user/ in figures
	$(Q)tools/structure $(if $(filter 1,$(V)),-v)

.PHONY: structure
