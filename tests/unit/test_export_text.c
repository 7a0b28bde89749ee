/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text sink: its content, that no line is wider than the terminal, and that every name is
 * escaped. To look at it: test_export_text show [COLOR [WIDTH [VERBOSITY]]]
 */
#include <locale.h>
#include <wchar.h>

#include "base/text.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

static struct strbuf out = STRBUF_INIT;
static char path[256];

struct task_iter {
	bool color;
	unsigned width;
	int verbosity;
};
static const struct task_iter plain = { false, 100, 0 };

static struct sink *text_sink(int fd, struct task_iter look)
{
	const struct sink_text_opts opts = {
		.color = look.color,
		.width = look.width,
		.stacks = 2,
		.top = 10,
		.verbosity = look.verbosity,
	};

	return sink_text__new(fd, &opts);
}

/* The text of a fixture in this style, or of the summary for NULL. */
static const char *shown(struct task_iter look, const char *fixture)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = text_sink(fd, look);

	for (size_t i = 0; fixture && i < FIXTURE_CNT; i++)
		if (!strcmp(fixtures[i].name, fixture) && send_block(sink, fixtures[i].make()))
			abort();
	if (!fixture && send_summary(sink, false))
		abort();
	sink->ops->free(sink);
	close(fd);
	slurp(path, &out);
	return strbuf__str(&out);
}

/* Removes the colours in place; false if there is any other escape sequence. */
static bool strip(char *text)
{
	char *to = text;

	while (*text) {
		size_t len;

		if (*text != '\033') {
			*to++ = *text++;
			continue;
		}
		len = 2 + strspn(text + 2, "0123456789;");
		if (text[1] != '[' || text[len] != 'm')
			return false;
		text += len + 1;
	}
	*to = '\0';
	return true;
}

/* The widest line by the C library's measure; -1 if a byte is not printable. */
static int widest(const char *text)
{
	int width = 0, max = 0;

	while (*text) {
		wchar_t c;
		int len = mbtowc(&c, text, MB_CUR_MAX), columns;

		if (len <= 0)
			return -1;
		text += len;
		if (c == L'\n') {
			width = 0;
			continue;
		}
		columns = wcwidth(c);
		if (columns < 0)
			return -1;
		width += columns;
		max = width > max ? width : max;
	}
	return max;
}

static void test_look(struct task_iter look, const char *fixture)
{
	struct task_iter bare = look;
	char *colored;
	int width;

	shown(look, fixture);
	colored = strdup(out.data);
	ok(strip(colored) && (look.color || !strchr(out.data, '\033')),
	   "%s: no escape except colours, %u", fixture, look.width);
	width = widest(colored);
	ok(width > 0 && width <= (int)look.width, "%s: %d columns of %u", fixture, width,
	   look.width);
	bare.color = false;
	is_str(shown(bare, fixture), colored, "%s: colour does not change the text", fixture);
	free(colored);
}

static void test_looks(void)
{
	static const struct task_iter looks[] = {
		{ true, 40, 0 },  { true, 57, 1 },  { true, 100, 0 },
		{ true, 101, 1 }, { true, 200, 2 }, { true, 80, -1 },
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		skip(1, "no locale C.UTF-8 to measure by");
		return;
	}
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		for (size_t j = 0; j < FIXTURE_CNT; j++)
			test_look(looks[i], fixtures[j].name);
		test_look(looks[i], NULL);
	}
}

static const struct {
	const char *fixture, *part;
	bool wanted;
} parts[] = {
	{ "cpu", "━━ 312 ms  redis-server (pid 4242) · epoll ━", true },
	{ "cpu", "\n   96% cpu, in luaV_execute (redis-server) · fault 9f1c02d4\n   █████", true },
	{ "cpu", "\n   █ running 300 ms 96%   ▓ runnable 11.5 ms 4%\n", true },
	{ "cpu",
	  "machine: CPUs 31% used, this process 25% · ran instead: cc1plus (8123) 8.00 ms, 3 "
	  "more\n",
	  true },
	{ "cpu", "\n    87%  █ running 270 ms, 27 samples\n          luaH_getnum  redis-server\n",
	  true },
	{ "cpu",
	  "luaV_gettable inlined  lvm.c:113  lua\n        ▸ luaV_execute ×2\n          luaD_call\n",
	  true },
	{ "cpu", "          evalGenericCommand\n          … 7 more\n", true },
	{ "cpu",
	  "          kernel: clear_page_erms ← __alloc_pages ← handle_mm_fault ← exc_page_fault\n",
	  true },
	{ "cpu", "\n     3%  1 more stack 8.00 ms\n", true },
	{ "cpu", "\n     1%  without a stack 4.00 ms\n", true },
	{ "cpu", "lost", false },
	{ "cpu", "OPEN", false },
	{ "cpu", "/usr/", false },
	{ "lock", "━━ 1.25 s  thumbnailer/io-pool-3 (pid 900, tid 917) · libuv", true },
	{ "lock", "80% futex, in img::cache::Cache<…>::lookup (thumbnailer) · fault 00000000\n",
	  true },
	{ "lock", "machine busy: CPUs 100% used, this process 25%, I/O wait 12%\n", true },
	{ "lock",
	  "▒ futex 1.00 s in futex(), woken by io-pool-7 (its tid 921), then for a CPU 3.00 ms\n",
	  true },
	{ "lock", "kernel: futex_wait_queue ← futex_wait", true },
	{ "lock", "▤ disk 199 ms in fsync(), woken by a soft interrupt on redis-cli (pid 12)\n",
	  true },
	{ "lock", "do_run_one\n          … 2 more\n", true },
	{ "lock",
	  "stacks: cut at the depth limit, frame pointers may be missing\n   lost: 1 wakeup_missed\n"
	  "   left out: 3 samples_shed\n",
	  true },
	{ "hang", "━━ STILL OPEN after 5.00 s  simjank-looper (pid 77) · android-looper ━", true },
	{ "hang", " · 300 frames dropped · fault 12ab\n", true },
	{ "hang", "in clock_nanosleep(), not over yet\n", true },
	{ "hang_end",
	  "━━ 5.00 s, the hang's end  simjank-looper (pid 77) · android-looper · thread ended ",
	  true },
	{ "hang_end", " · missed 317 frames of the display (60 Hz) · fault\n", true },
	{ "hang_end", "dropped", false },
	{ "hang_end", "OPEN", false },
	{ "hang_end", "not over yet", false },
	{ "bare", "━━ 101 ms  ? (pid 3)", true },
	{ "bare", "machine: not busy\n   100%  without a stack 101 ms\n   stacks: no samples\n",
	  true },
	{ "hostile", "\n   waited for ?[31m?'a�' = ( ?. (confidence 0%) · queued ", true },
	{ "states", "    71%  10 more stacks 55.0 ms\n", true },
	{ "qt", "━━ 23.0 ms  kcalc (pid 4300) · epoll ━", true },
	{ "qt",
	  "━\n   handling QTimerEvent to app::Window<…>, libx.so+0x1234 of frame clock\n   >99%",
	  true },
	{ "qt", "\n   >99% sleep · queued 35.0 ms before · fault 77\n", true },
	{ "qt", "message:", false },
	{ "ready",
	  "━\n   handling 5 ready, first tcp 127.0.0.1:6379->127.0.0.1:51234\n   100% cpu · fault 78\n",
	  true },
	{ "timer", "━━ 101 ms  redis-server (pid 4242) · epoll · timerfd every 1.00 s ━", true },
	{ "timer", "handling", false },
	{ "cpu", "queued", false },
	{ "chain",
	  "━\n   waited 150 ms for a mutex held by thread 'indexer' (tid 4711), which waited 139 "
	  "ms for "
	  "the disk\n   in fsync ← flush_index · fault a1b2c3d4\n   █",
	  true },
	{ "chain", "confidence", false },
	{ "chain", "75% futex", false },
	{ "chain",
	  "   machine: CPUs 31% used, this process 25%, stolen 2%, short of I/O 71%\n   thread: "
	  "throttled 4.00 ms · 3 page faults from storage · small CPU (50%) · CPU throttled "
	  "for heat\n      · at 0.80 of 2.40 GHz\n"
	  "   ▒ waited 150 ms (futex):\n",
	  true },
	{ "chain",
	  "):\n   ↳ indexer (its tid 4711, nice 10) woke it: disk 139 ms in fsync()\n"
	  "          for /var/lib/index/segment.7 on vda1\n"
	  "          in fsync ← flush_index ← merge ← indexer_main\n"
	  "          woke it in pthread_mutex_unlock ← index_unlock ← indexer_main\n"
	  "      ↳ jbd2/vda1-8 (pid 310) woke it\n    75%  ▒",
	  true },
	{ "chain", "▒ futex 150 ms in futex(), woken by indexer (its tid 4711)\n", true },
	{ "chain", "\n    20%  1 more stack 40.0 ms\n", true },
	{ "lock", "↳", false },
	{ "lock", "thread:", false },
	{ NULL,
	  "5 min 0 s · 1,234,567 dispatches · 42 blocks (34 per million) · 1 hang · nothing lost\n",
	  true },
	{ NULL,
	  "own cost while tracing: 142 ns a dispatch, kernel 176 ms (0.059% CPU), user 1.20 s "
	  "(0.4% CPU),\n   31.0 MiB\n",
	  true },
	{ NULL, "epoll redis-server (pid 4242): 1,234,000 dispatches, 40 blocks (32 per million)\n",
	  true },
	{ NULL, "2.05 µs ▕▃▅▇▇▅▄▃▃▂        ▂▏ 537 ms · p50 12.4 µs · p99 49.6 µs · max 301 ms\n",
	  true },
	{ NULL, "android-looper simjank-looper? (pid 77): 567 dispatches, 2 blocks (0.35%)\n",
	  true },
};

static void test_parts(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *text = shown(plain, parts[i].fixture);

		if (parts[i].wanted)
			has_str(text, parts[i].part, "%s is there", parts[i].fixture);
		else
			lacks_str(text, parts[i].part, "%s doesn't", parts[i].fixture);
	}
}

static size_t count(const char *text, const char *part)
{
	size_t cnt = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		cnt++;
	return cnt;
}

static void test_bar(void)
{
	char bar[1024] = "";
	const char *text = strstr(shown(plain, "lock"), "\n   █");

	sscanf(text ? text : "", "\n   %1023[^\n]", bar);
	is_int(count(bar, "█"), 4, "46 ms of 1250 are 4 of 94 cells");
	is_int(count(bar, "▒"), 75, "1000 ms are 75");
	is_int(count(bar, "▤"), 15, "200 ms are 15, 4 ms none");
	is_int(strlen(bar), 94 * strlen("█"), "together the whole width");
}

static void test_verbosity(void)
{
	struct task_iter quiet = { false, 100, -1 }, loud = { false, 100, 1 };

	is_int(count(shown(quiet, "cpu"), "\n"), 2, "quiet: only the headline");
	has_str(shown(loud, "lock"), "          do_futex+0x12b  vmlinux\n",
		"loud: each kernel frame");
	has_str(shown(loud, "lock"), "std::lock_guard<std::mutex>::lock_guard(std::mutex&)+0x22",
		"loud: whole names");
	has_str(shown(loud, "lock"), "memory 8.6 of 15.6 GiB available", "loud: memory");
	has_str(shown(loud, "chain"), "NUMA", "loud: the node, if only 0");
	has_str(shown(loud, "chain"),
		"          for unix /run/speller.sock (speller, pid 501), fd 7",
		"loud: what further stacks waited for");
	lacks_str(shown(loud, "cpu"), "NUMA", "loud: an unknown node is not shown");
	has_str(shown(loud, "cpu"),
		"\n   container 3f8a2c1b9d7e · pod 7f3b1d2e-0a9c-4b8d-9e6f-112233445566 · unit "
		"redis-server.service",
		"loud: container, pod and unit");
	has_str(shown(loud, "cpu"), "\n   names chosen by uid 1000\n",
		"loud: and who could have invented these names");
	has_str(shown(loud, "cpu"),
		"\n   service cart · of shop · version 2.7.1 · in production\n"
		"   reduced to keep the budget: up to marks\n",
		"loud: the application, and what the governor took away");
	lacks_str(shown(loud, "bare"), "names chosen", "loud: nobody but root");
	lacks_str(shown(plain, "cpu"), "container", "otherwise not");
	lacks_str(shown(loud, "bare"), "container", "nor what is unknown");
	has_str(shown(loud, "qt"),
		"\n   message: QTimerEvent\n   handler: app::Window<int> (kcalc)\n"
		"   callback: +0x1234 (libx.so)\n   source: frame clock\n   ░",
		"loud: the message's parts");
	has_str(shown(loud, "ready"),
		"\n   ready: fd 8 tcp 127.0.0.1:6379->127.0.0.1:51234 (in|hup|rdhup)\n"
		"   ready: fd 9 eventfd 12 (in|0x40000000)\n   ready: 3 more, not known which\n",
		"loud: the ready descriptors");
	lacks_str(shown(loud, "ready"), "handling", "each once");
	lacks_str(shown(loud, "ready"), "message:", "and nothing unknown");
	lacks_str(shown(quiet, "ready"), "ready:", "quiet: none of it");
	has_str(shown(loud, "chain"),
		"woke it: disk 139 ms in fsync()\n"
		"          for /var/lib/index/segment.7 on vda1, fd 12, running 2.00 ms, runnable "
		"8.00 ms "
		"of 150 ms\n          cc1plus (8123) ran instead\n"
		"          in:\n          io_schedule+0x46  vmlinux\n",
		"loud: all that a link did");
	has_str(shown(loud, "chain"),
		"          woke it in:\n          try_to_wake_up+0x10  vmlinux\n",
		"loud: and its stack at the wake-up");
	has_str(shown(loud, "chain"), "(speller, pid 501), fd 7, 250 ms at most, 4096 bytes\n",
		"loud: all facts of the wait");
	has_str(shown(loud, "chain"), "flush_index (confidence 95%) ·", "loud: the confidence");
	has_str(shown(loud, "chain"), " · 1,200 page faults without storage", "loud: minor faults");
	is_int(count(shown(loud, "cpu"), "luaV_execute+"), 4, "loud: recursion in full");
	is_int(count(shown(loud, "states"), "0x400000"), 12, "loud: every stack");
}

/* Written by the sink that shows this much. */
static const char *shown_record(int verbosity, const Jankbpf__Record *record)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = text_sink(fd, (struct task_iter){ false, 0, verbosity });

	if (sink->ops->record(sink, record))
		abort();
	sink->ops->free(sink);
	close(fd);
	slurp(path, &out);
	return strbuf__str(&out);
}

static void test_too_many_fds(void)
{
	struct block *block = fixture__ready();

	block->live->message->has_too_many_fds = block->live->message->too_many_fds = true;
	has_str(shown_record(1, fixture__record(block)),
		"3 more, not known which: the process has too many descriptors\n",
		"why the ready descriptors are not known");
	block__free(block);
}

/* With an idle loop, "0 blocks" is true of something. */
static void test_idle_loop(void)
{
	struct unwatched item = { .reason = UNWATCHED_NO_LOOP, .pid = 7, .comm = "bash" };
	struct summary summary = { .unwatched = { &item, 1, 0 } };

	has_str(shown_record(0, fixture__summary_record(&summary)), "nothing was watched",
		"nothing was watched");
	has_str(strbuf__str(&out), "not watched: bash (pid 7): no loop seen\n", "and why");
	summary.idle_loop = true;
	has_str(shown_record(0, fixture__summary_record(&summary)), "0 dispatches · 0 blocks",
		"a loop was watched");
	lacks_str(strbuf__str(&out), "nothing was watched", "so something was");
}

static void test_losses(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = text_sink(fd, (struct task_iter){});

	is_int(send_summary(sink, true), 0, "summary with losses");
	slurp(path, &out);
	has_str(strbuf__str(&out), "\n   lost: 12 ring_full: Records of blocks, hangs or loops",
		"losses are named and explained");
	has_str(strbuf__str(&out),
		"\n   all durations are exact; detail was left out:\n"
		"      12,345 samples_shed: Stacks that were dropped",
		"… what is only detail apart from them");
	lacks_str(strbuf__str(&out), "nothing lost", "and no line says nothing lost");
	lacks_str(strbuf__str(&out), "no block lost", "nor that no block was lost");
	sink->ops->free(sink);
	close(fd);
}

static const char *first_line(const struct stalled *stalled)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = text_sink(fd, (struct task_iter){});
	struct summary summary = fixture__summary();
	char *line;

	summary.stalled = *stalled;
	is_int(sink->ops->record(sink, fixture__summary_record(&summary)), 0, "a summary");
	slurp(path, &out);
	summary__free(&summary);
	sink->ops->free(sink);
	close(fd);
	line = strchr(out.data, '\n');
	return line ? line + 1 : "";
}

static void test_saturated(void)
{
	static const struct stalled half = { 100 * FIXTURE_MS, 50 * FIXTURE_MS, 50 * FIXTURE_MS, 97,
					     "/a" };
	static const struct {
		const char *want;
		struct stalled stalled;
	} rows[] = {
		{ "   saturated: the CPU quota of cgroup /a was used up for 80.0 ms, 80 % of the "
		  "blocks' time\n",
		  { 100 * FIXTURE_MS, 90 * FIXTURE_MS, 80 * FIXTURE_MS, 40, "/a" } },
		{ "   saturated: the machine's CPUs were 97 % busy, and wanted for 60.0 ms, 60 % of "
		  "the blocks' time\n",
		  { 100 * FIXTURE_MS, 60 * FIXTURE_MS, 10 * FIXTURE_MS, 97, NULL } },
		{ "   short of a CPU for 60.0 ms, 60 % of the blocks' time\n",
		  { 100 * FIXTURE_MS, 60 * FIXTURE_MS, 0, 50, NULL } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *line = first_line(&rows[i].stalled);

		ok(!strncmp(line, rows[i].want, strlen(rows[i].want)), "first line: %s",
		   rows[i].want);
	}
	first_line(&half);
	lacks_str(strbuf__str(&out), "saturated", "not for half of the time or less");
}

static void test_over_share(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = text_sink(fd, (struct task_iter){});
	struct summary summary = fixture__summary();

	over_shares__add(&summary.over_share, 1000, JANK_SHARE_RECORD, 1234);
	over_shares__add(&summary.over_share, 1000, JANK_SHARE_STACK, 5);
	over_shares__add(&summary.over_share, UID_UNKNOWN, JANK_SHARE_THREAD, 6);
	summary.not_shown = (struct not_shown){};
	summary.not_shown.cnt[NOT_SHOWN_STOPPED] = 1234;
	summary.not_shown.cnt[NOT_SHOWN_LOOP] = 1;
	is_int(sink->ops->record(sink, fixture__summary_record(&summary)), 0,
	       "summary with users over the share");
	slurp(path, &out);
	has_str(strbuf__str(&out),
		"\n   over the share: uid 1000: 1,234 records, 5 stacks\n"
		"   over the share: other users: 6 threads\n",
		"a line for each user");
	has_str(strbuf__str(&out),
		"\n   blocks not shown: 1,234 of stopped processes (--debugging shows them), 1 of "
		"loops that -l leaves\n      out\n",
		"the blocks that are not shown, by reason, in one line");
	summary__free(&summary);
	sink->ops->free(sink);
	close(fd);
}

static void test_errors(void)
{
	int fds[2], fd = open("/dev/full", O_WRONLY);
	struct sink *sink = text_sink(fd, (struct task_iter){});

	is_int(send_block(sink, fixture__cpu()), -ENOSPC, "full");
	sink->ops->free(sink);
	close(fd);
	if (pipe(fds))
		abort();
	close(fds[0]);
	sink = text_sink(fds[1], (struct task_iter){});
	is_int(send_block(sink, fixture__cpu()), -EPIPE, "a reader that has left");
	is_int(send_summary(sink, false), -EPIPE, "for the summary too");
	sink->ops->free(sink);
	close(fds[1]);
}

/* Nothing is known but the time: the text says so. */
static void test_absent(void)
{
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	Jankbpf__NotWatched later = JANKBPF__NOT_WATCHED__INIT, *not_watched[] = { &later };
	Jankbpf__Loop loop = JANKBPF__LOOP__INIT, *loops[] = { &loop };
	Jankbpf__Record record = JANKBPF__RECORD__INIT;

	for (int verbosity = -1; verbosity <= 1; verbosity++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		struct sink *sink = text_sink(fd, (struct task_iter){ false, 0, verbosity });

		is_int(send_absent(sink, JANKBPF__RECORD__TYPE_BLOCK), 0, "an unknown block");
		is_int(send_absent(sink, JANKBPF__RECORD__TYPE_HANG), 0, "an unknown hang");
		record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
		record.summary = &summary;
		is_int(sink->ops->record(sink, &record), 0, "an empty summary");
		later.reason = "later";
		summary.n_not_watched = summary.n_loops = 1;
		summary.not_watched = not_watched;
		summary.loops = loops;
		is_int(sink->ops->record(sink, &record), 0, "unknown loops");
		record.type_case = JANKBPF__RECORD__TYPE__NOT_SET;
		is_int(sink->ops->record(sink, &record), 0, "a record of a later type");
		sink->ops->free(sink);
		close(fd);
		slurp(path, &out);
		has_str(strbuf__str(&out), "━━ 0 ns  ? (pid 0) · unknown", "names are unknown");
		has_str(strbuf__str(&out), "0% later", "the cause is a later version's");
		has_str(strbuf__str(&out), "not watched: and 1 more process\n",
			"so is the reason why it was not watched");
		lacks_str(strbuf__str(&out), "(null)", "nothing else is shown");
	}
}

static int show(int argc, char **argv)
{
	struct sink *sink =
		text_sink(STDOUT_FILENO, (struct task_iter){ argc > 2 && atoi(argv[2]),
							     argc > 3 ? (unsigned)atoi(argv[3]) : 0,
							     argc > 4 ? atoi(argv[4]) : 0 });

	for (size_t i = 0; i < FIXTURE_CNT; i++)
		send_block(sink, fixtures[i].make());
	send_summary(sink, false);
	send_summary(sink, true);
	sink->ops->free(sink);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "show"))
		return show(argc, argv);
	ignore_signals();
	scratch__init();
	snprintf(path, sizeof(path), "%s", scratch__path("text"));
	test_looks();
	test_parts();
	test_bar();
	test_verbosity();
	test_losses();
	test_too_many_fds();
	test_idle_loop();
	test_absent();
	test_saturated();
	test_over_share();
	test_errors();
	strbuf__free(&out);
	return tap__done();
}
