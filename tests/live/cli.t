#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The command line: exit statuses, and what goes to stdout and to stderr.
. "$(dirname "$0")/../lib/tap.sh"
jank=${JANKBPF:-./jankbpf}

# WORDS-IN-STDERR ARG...: wrong usage, one line on stderr, nothing on stdout
refused() {
	words=$1
	shift
	run "$jank" "$@"
	[ "$rc" = 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" = 1 ] &&
		grep -qF -e "$words" "$dir/err"
	ok $? "usage error: $*"
}

# WORDS-IN-STDOUT ARG...: success, text on stdout, nothing on stderr
prints() {
	words=$1
	shift
	run "$jank" "$@"
	[ "$rc" = 0 ] && [ ! -s "$dir/err" ] && grep -qF -e "$words" "$dir/out"
	ok $? "on stdout: $*"
}

prints 'Usage: jankbpf' --help
prints 'Usage: jankbpf' -h
prints 'Usage: jankbpf' doctor --help
prints 'Usage: jankbpf replay [OPTIONS] FILE' replay --help
prints 'Usage: jankbpf replay [OPTIONS] FILE' help replay
prints 'Usage: jankbpf [trace]' help
prints 'complete -F _jankbpf jankbpf' completion bash
prints 'jankbpf 0.' --version
prints 'jankbpf 0.' -V
prints '$schema' --schema

refused 'nothing to trace'
refused "unknown option '--foo'; see jankbpf --help" --foo
refused "unknown option '--thresold'; did you mean '--threshold'? See jankbpf --help" --thresold 5
refused "unknown option '--zzq'; see jankbpf replay --help" replay --zzq 5 f
refused "'frobnicate' is no command" frobnicate
refused "'repaly' is no command of jankbpf; did you mean 'replay'?" repaly x
refused "--format 'jsn': give text, json or proto; did you mean 'json'?" --format jsn -p 1
refused "--loop 'rediss': did you mean 'redis'? There are epoll, " loops -l rediss
refused "--pid '0' is out of range" -p 0
refused "--pid '-1' is out of range" -p -1
refused "--pid is empty" -p " "
refused "--pid '99999999999' is out of range" -p 99999999999
refused "--threshold '0' is out of range" -t 0 -p 1
refused "--threshold '-5ms' is out of range" -t -5ms -p 1
refused "--threshold '5parsecs': give a number with us, ms, s, m or h" -t 5parsecs -p 1
refused "--threshold '99999999999999999999s' is out of range" -t 99999999999999999999s -p 1
refused "--fps '0' is out of range" --fps 0 -p 1
refused "--frequency '10000' is out of range" -F 10000 -p 1
refused "--count '0' is out of range" -n 0 -p 1
refused '-p and a COMMAND' -p 1 -- true
refused 'replay needs the FILE' replay
refused '--pid does not go with replay' replay -p 1 file
refused "--disable-feature 'uprob': no such feature; did you mean 'uprobe'? Known are" \
	doctor --disable-feature uprob
refused "--disable-feature 'warp': no such feature; known are ringbuf," doctor --disable-feature warp

run "$jank" --help
[ "$(awk '{ if (length($0) > 110) print }' "$dir/out" | wc -l)" = 0 ]
ok $? '--help has no overlong line'

run "$jank"
[ "$rc" = 2 ] && [ "$(wc -c <"$dir/err")" -lt 160 ] && grep -q -e '-p PID.*--.*-a.*--help' "$dir/err"
ok $? 'without arguments: a short message with the three targets and --help'

for command in trace replay loops symbolize doctor completion help; do
	run "$jank" help "$command"
	[ "$rc" = 0 ] && [ "$(grep -c '^Example: ' "$dir/out")" = 1 ] && "$jank" "$command" --help | cmp -s - "$dir/out"
	ok $? "help $command is $command --help"
done

"$jank" --help >/dev/full 2>/dev/null
[ $? = 1 ]
ok $? '--help that cannot be written fails'

end
