#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The man page: clean roff, its sections, and every option that --help names.
. "$(dirname "$0")/../lib/tap.sh"
jank=${JANKBPF:-./jankbpf}
page=${JANK_MAN:-.output/rel/jankbpf.8}

if ! command -v groff >/dev/null; then
	skip roff 'no groff'
else
	warnings=$(groff -man -ww -z "$page" 2>&1)
	[ -z "$warnings" ]
	ok $? "groff has no warning $warnings"
fi
for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' RECORDS FILES OVERHEAD EXAMPLES 'SEE ALSO'; do
	grep -qx ".SH $section" "$page"
	ok $? "section $section"
done
description=$(sed -n '/^.SH DESCRIPTION/,/^Commands:/p' "$page")
for wait in epoll_wait poll select io_uring_enter futex accept parks android::Looper; do
	echo "$description" | grep -qwF -e "$wait"
	ok $? "DESCRIPTION names the loops over $wait"
done
! grep -q '@[A-Z]*@' "$page"
ok $? 'every part was filled in'
for option in $("$jank" --help | grep -oE '(^|, | )--[a-z][a-z-]+' | tr -d ', ' | sort -u); do
	grep -qF -e "$(echo "$option" | sed 's/-/\\-/g')" "$page"
	ok $? "$option"
done
[ "$n" -gt 25 ]
ok $? "the help's options were found ($n checks)"

end
