#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Uprobes that follow whoever maps a file: tests/live/follow/. In a process namespace, since what is probed is
# probed for every process that can be seen.
cd "$(dirname "$0")/../.." || exit 1
make -s follow-test >&2 || { echo "Bail out! the programs do not build"; exit 1; }
if ! why=$(unshare --pid --fork --mount-proc true 2>&1); then
	echo "1..0 # SKIP no process namespace to be had: $why"
	exit 0
fi
exec unshare --pid --fork --mount-proc .output/follow/follow .output/follow
