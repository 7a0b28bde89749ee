#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Probes the chosen sites in real processes and counts: tests/live/sites/sites.c.
cd "$(dirname "$0")/../.." || exit 1
make -s sites-test >&2 || { echo "Bail out! the workers do not build"; exit 1; }
exec .output/sites/sites .output/sites
