#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Uprobes that follow the processes that map a file: tests/live/follow/. Runs in a process
# namespace, because a uprobe on a file affects every visible process.
cd "$(dirname "$0")/../.." || exit 1
make -s follow-test >&2 || { echo "Bail out! the programs do not build"; exit 1; }
if ! why=$(unshare --pid --fork --mount-proc true 2>&1); then
	echo "1..0 # SKIP no process namespace here: $why"
	exit 0
fi
exec unshare --pid --fork --mount-proc .output/follow/follow .output/follow
