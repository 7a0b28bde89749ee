/* SPDX-License-Identifier: GPL-2.0 */
/* The command line: each bad row with its error message. */
#include <errno.h>

#include "tests/options_fixture.h"
#include "tests/tap.h"

struct bad {
	const char *line, *says;
};

static const struct bad bads[] = {
	{ "", "nothing to trace: give a process by -p PID" },
	{ "trace", "nothing to trace" },
	{ "--", "nothing to trace" },
	{ "-p 0", "--pid '0' is out of range: give 1 to 4194304" },
	{ "-p -1", "--pid '-1' is out of range: give 1 to 4194304" },
	{ "-p abc", "--pid 'abc': give process ids; by name: -a -c abc" },
	{ "-p 12x", "--pid '12x': give a whole number" },
	{ "-p 1.5", "--pid '1.5': give a whole number" },
	{ "-p 99999999999", "--pid '99999999999' is out of range: give 1 to 4194304" },
	{ "-p 99999999999999999999999", "is out of range: give 1 to 4194304" },
	{ "-p 4194305", "--pid '4194305' is out of range" },
	{ "-p 1,,2", "--pid '': give a whole number" },
	{ "-p 1,", "--pid '': give a whole number" },
	{ "-p \1", "--pid is empty: no process was found" },
	{ "-p 1 -- true", "-p and a COMMAND after -- do not go together" },
	{ "-a -p 1", "-a is every process: give it alone, without -p" },
	{ "-a -- true", "-a is every process: give it alone, without a COMMAND" },
	{ "-p 1 -c x", "-c narrows -a: give -a, too" },
	{ "-p 1 --as root", "--as is COMMAND's user: give the program and its arguments" },
	{ "-a --as root", "--as is COMMAND's user" },
	{ "--as \1 -- true", "--as is empty: give USER" },
	{ "loops --as root", "--as does not go with loops" },
	{ "-u 0 -- true", "-u narrows -a: give -a, too" },
	{ "-c x", "-c narrows -a" },
	{ "loops -c x", "-c narrows -a" },
	{ "loops -a -p 1", "-a is every process" },
	{ "-a -c \1", "--comm '': no process has such a name" },
	{ "-a -c 0123456789abcdef*", "names have 1 to 15 bytes" },
	{ "-a -u 4294967295", "--uid '4294967295' is out of range: give 0 to 4294967294" },
	{ "-a -u \1", "--uid '': give a user's number or name" },
	{ "-a -g \1", "--cgroup ''" },
	{ "-a -l \1", "--loop: a name is empty" },
	{ "-a -l qt,,glib", "--loop: a name is empty" },
	{ "loops -t 5 -p 1", "--threshold does not go with loops" },
	{ "loops 5", "'5' is one word too many after loops" },
	{ "-p 1 -t 0", "--threshold '0' is out of range: give 1us to 1h" },
	{ "-p 1 -t -5", "--threshold '-5' is out of range: give 1us to 1h" },
	{ "-p 1 -t 5parsecs", "--threshold '5parsecs': give a number with us, ms, s, m or h" },
	{ "-p 1 -t ms", "--threshold 'ms': give a number" },
	{ "-p 1 -t \1", "--threshold '': give a number" },
	{ "-p 1 -t 99999999999999999999h", "is out of range: give 1us to 1h" },
	{ "-p 1 -t 61m", "--threshold '61m' is out of range" },
	{ "-p 1 --hang 25h", "--hang '25h' is out of range: give 1ms to 24h" },
	{ "-p 1 --hang 50ms", "--hang is shorter than --threshold" },
	{ "-p 1 --hang soon", "--hang 'soon': give a number" },
	{ "-p 1 --fps 0", "--fps '0' is out of range: give 1 to 1000" },
	{ "-p 1 --fps 1001", "--fps '1001' is out of range: give 1 to 1000" },
	{ "-p 1 --fps x", "--fps 'x': give a whole number" },
	{ "-p 1 -F 10000", "--frequency '10000' is out of range: give 0 to 9999" },
	{ "-p 1 -F -1", "--frequency '-1' is out of range: give 0 to 9999" },
	{ "-p 1 -F 99Hz", "--frequency '99Hz': give a whole number" },
	{ "-p 1 -d 0", "--duration '0' is out of range: give 1ms to" },
	{ "-p 1 -d 9000h", "--duration '9000h' is out of range" },
	{ "-p 1 -n 0", "--count '0' is out of range: give at least 1" },
	{ "-p 1 -n -3", "--count '-3' is out of range: give at least 1" },
	{ "-p 1 -n many", "--count 'many': give a whole number" },
	{ "-p 1 --keep 1ms", "--keep '1ms' is out of range: give 1s to" },
	{ "-p 1 --max-size 5", "--max-size '5' is out of range: give 1M to" },
	{ "-p 1 --max-size big", "--max-size 'big': give a number of bytes" },
	{ "-p 1 --format xml", "--format 'xml': give text, json or proto" },
	{ "-p 1 --backend ebpf", "--backend 'ebpf': give auto, kernel or uprobe" },
	{ "-p 1 --backend \1", "--backend '': give auto, kernel or uprobe" },
	{ "-p 1 --marks on", "--marks 'on': give auto, always or never" },
	{ "-p 1 -o \1", "--output is empty: give DIR" },
	{ "-p 1 --journal \1", "--journal is empty: give FILE" },
	{ "-p 1 --btf \1", "--btf is empty: give FILE" },
	{ "-p 1 --btf a\tb", "--btf has control characters: give FILE" },
	{ "-p 1 --btf", "--btf needs its FILE" },
	{ "-p 1 --redact paths,x", "--redact 'x': give paths, peers or messages" },
	{ "-p 1 --redact peers,", "--redact '': give paths, peers or messages" },
	{ "-p 1 --redact-key k",
	  "--redact-key is the key of --redact: say what to hash, such as --redact "
	  "paths,peers,messages" },
	{ "-p 1 --qualifier \1", "--qualifier is empty: give TEXT" },
	{ "-p 1 --qualifier a\nb", "--qualifier has control characters: give TEXT" },
	{ "-p", "-p needs its PID" },
	{ "-vp", "-p needs its PID" },
	{ "--pid", "--pid needs its PID" },
	{ "-p 1 --threshold", "--threshold needs its TIME" },
	{ "-p 1 --json=yes", "--json takes no argument" },
	{ "-p 1 --foo", "unknown option '--foo'; see jankbpf --help" },
	{ "-p 1 --foo=1", "unknown option '--foo';" },
	{ "-p 1 --jsonx", "unknown option '--jsonx'" },
	{ "-p 1 -Z", "unknown option '-Z'; see jankbpf --help" },
	{ "-p 1 -vZ", "unknown option '-Z'" },
	{ "-p 1 -A", "unknown option '-A'" },
	{ "-p 1 --allx", "unknown option '--allx'" },
	{ "-p 1 --f\33[2J", "unknown option '--f?[2J'" },
	{ "-p 1 --j", "'--j' may be --json or --journal" },
	{ "-p 1 sleep 5",
	  "'sleep' is no command of jankbpf; to start and trace a program, put --" },
	{ "loop", "'loop' is no command of jankbpf; did you mean 'loops'? See jankbpf --help" },
	{ "repaly x",
	  "'repaly' is no command of jankbpf; did you mean 'replay'? See jankbpf --help" },
	{ "1234", "'1234' is no command of jankbpf; to trace that process, put -p before it" },
	{ "help repaly", "'repaly' is no command of jankbpf; did you mean 'replay'?" },
	{ "help frobnicate", "'frobnicate' is no command of jankbpf; see jankbpf --help" },
	{ "completion", "completion needs the name of a shell: bash, zsh or fish" },
	{ "completion fihs", "did you mean 'fish'? See jankbpf completion --help" },
	{ "completion sh", "'sh' is no shell that can be completed: give bash, zsh or fish" },
	{ "completion zsh bash", "'bash' is one word too many after completion" },
	{ "help trace x", "'x' is one word too many after help" },
	{ "help -t 5", "--threshold does not go with help" },
	{ "-p 1 --thresold 5",
	  "unknown option '--thresold'; did you mean '--threshold'? See jankbpf --help" },
	{ "-p 1 --tresold=5", "unknown option '--tresold'; did you mean '--threshold'?" },
	{ "-p 1 --JSON", "unknown option '--JSON'; did you mean '--json'?" },
	{ "-p 1 -jsno", "unknown option '-j'; did you mean '--json'?" },
	{ "-p 1 --qqqqqqqqq", "unknown option '--qqqqqqqqq'; see jankbpf --help" },
	{ "replay f --fsp 5",
	  "unknown option '--fsp'; did you mean '--fps'? See jankbpf replay --help" },
	{ "replay f --jurnal x", "unknown option '--jurnal'; see jankbpf replay --help" },
	{ "-p 1 --format jsn", "--format 'jsn': give text, json or proto; did you mean 'json'?" },
	{ "-p 1 --redact peers,path", "give paths, peers or messages; did you mean 'paths'?" },
	{ "trace doctor", "'doctor' is no command of jankbpf" },
	{ "-p 1 -", "'-' is no command of jankbpf" },
	{ "replay", "replay needs the FILE that --journal wrote" },
	{ "symbolize", "symbolize needs the FILE that --json or -o wrote, or - for stdin" },
	{ "symbolize a -t 5", "--threshold does not go with symbolize" },
	{ "doctor --debug-dir b", "--debug-dir does not go with doctor" },
	{ "replay a b", "'b' is one word too many after replay" },
	{ "replay a -p 1", "--pid does not go with replay" },
	{ "replay a --hang 1s", "--hang does not go with replay" },
	{ "symbolize a --format json", "--format does not go with symbolize" },
	{ "replay a --backend auto", "--backend does not go with replay" },
	{ "replay a --btf b", "--btf does not go with replay" },
	{ "replay a -F 9", "--frequency does not go with replay" },
	{ "replay a -d 9", "--duration does not go with replay" },
	{ "replay a --journal b", "--journal does not go with replay" },
	{ "replay a --qualifier b", "--qualifier does not go with replay" },
	{ "replay a --disable-feature btf", "--disable-feature does not go with replay" },
	{ "-p 1 replay a", "--pid does not go with replay" },
	{ "doctor x", "'x' is one word too many after doctor" },
	{ "doctor -t 5", "--threshold does not go with doctor" },
	{ "symbolize a --json", "--json does not go with symbolize" },
	{ "doctor --format json", "--format does not go with doctor" },
	{ "doctor -- true", "'true' is one word too many after doctor" },
};

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		struct options opts;
		struct err err;
		int code = fixture__parse(bads[i].line, &opts, &err);

		is_int(code, -EINVAL, "refused: [%s]", bads[i].line);
		is_int(err.exit, JANK_EXIT_USAGE, "… as wrong usage");
		has_str(err.msg, bads[i].says, "… with the message");
		ok(!opts.pids && !opts.disabled && !opts.argv, "… with nothing stored");
	}
}

int main(void)
{
	test_bad();
	return tap__done();
}
