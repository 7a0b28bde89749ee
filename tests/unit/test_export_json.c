/* SPDX-License-Identifier: GPL-2.0 */
/* JSON Lines: valid by the binary's own schema, one write per line, no torn line left behind. */
#include <poll.h>
#include <sys/socket.h>

#include "export/record/record.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

static struct strbuf out = STRBUF_INIT;

static void in_dir(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", scratch_dir, name);
}

static void write_all_fixtures(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = sink_stream__new(fd, RECORD_JSON);

	for (size_t i = 0; i < FIXTURE_CNT; i++)
		is_int(send_block(sink, fixtures[i].make()), 0, "%s is written", fixtures[i].name);
	is_int(send_summary(sink, false), 0, "summary is written");
	is_int(send_summary(sink, true), 0, "summary with losses is written");
	sink->ops->free(sink);
	close(fd);
}

static void test_schema(void)
{
	char schema[256], records[256];

	in_dir(schema, sizeof(schema), "schema.json");
	in_dir(records, sizeof(records), "records.jsonl");
	spew(schema, json_schema);
	write_all_fixtures(records);
	switch (run(&out, "python3 tests/lib/validate_records.py --mutate %s %s", schema,
		    records)) {
	case 3:
		skip(2, "python3-jsonschema is not installed");
		return;
	case 0:
		ok(true, "records are valid, damaged ones are not");
		break;
	default:
		ok(false, "records are valid, damaged ones are not: %s", strbuf__str(&out));
	}
	has_str(strbuf__str(&out), "13 valid records", "all records were checked");
	ok(run(&out,
	       "/usr/bin/python3 schema/generate.py .output/schema/descriptors.pb schema | cmp %s "
	       "-",
	       schema) == 0,
	   "the binary's schema is the output of schema/generate.py, byte by byte");
}

/* The validator must find damage. */
static void test_validator(void)
{
	char schema[256], records[256];

	in_dir(schema, sizeof(schema), "schema.json");
	in_dir(records, sizeof(records), "bad.jsonl");
	spew(records, "{\"type\":\"block\"}\n{\"type\":");
	if (run(&out, "python3 tests/lib/validate_records.py %s %s", schema, records) == 3)
		skip(1, "python3-jsonschema is not installed");
	else
		has_str(strbuf__str(&out), "torn last line", "the validator finds a torn line");
}

static void check_line(const char *fixture, const char *part, bool wanted)
{
	struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block;

		if (strcmp(fixtures[i].name, fixture))
			continue;
		block = fixtures[i].make();
		fixture__add_block(&line, block);
		block__free(block);
	}
	if (wanted)
		has_str(strbuf__str(&line), part, "%s: %s", fixture, part);
	else
		lacks_str(strbuf__str(&line), part, "%s: no %s", fixture, part);
	strbuf__free(&line);
}

static const struct {
	const char *fixture, *part;
	bool wanted;
} parts[] = {
	{ "cpu", "{\"type\":\"block\",\"schema\":\"jankbpf/1\",\"id\":\"c0ffee00-", true },
	{ "cpu", "\"start_ns\":5000000000123,\"duration_ns\":312000000,", true },
	{ "cpu",
	  "\"time\":{\"running_ns\":300000000,\"runnable_ns\":11500000,\"blocked_ns\":{\"page_"
	  "fault\":500000}}",
	  true },
	{ "cpu",
	  "\"cause\":{\"kind\":\"cpu\",\"share\":0.9615,\"frame\":{\"function\":\"luaV_execute\",",
	  true },
	{ "cpu",
	  "\"file\":\"/build/redis/deps/lua/src/"
	  "lvm.c\",\"line\":113,\"language\":\"lua\",\"inlined\":true,\"app\":true}",
	  true },
	{ "cpu",
	  "{\"function\":\"__schedule\",\"offset\":963,\"module\":\"vmlinux\",\"kernel\":true}",
	  true },
	{ "cpu", "\"preemptors\":[{\"pid\":8123,\"tid\":8123,\"comm\":\"cc1plus\",\"ns\":8000000},",
	  true },
	{ "cpu", "\"stack_quality\":\"complete\"", true },
	{ "cpu", "\"message\"", false },
	{ "cpu", "\"lost\"", false },
	{ "lock", "\"stack_quality\":\"cut at the depth limit, frame pointers may be missing\"",
	  true },
	{ "lock", "\"lost\":{\"samples_shed\":3,\"wakeup_missed\":1}", true },
	{ "lock", "\"waker\":{\"pid\":900,\"tid\":921,\"comm\":\"io-pool-7\"}", true },
	{ "lock", "\"comm\":\"redis-cli\",\"softirq\":true}", true },
	{ "lock", "\"ns\":1003000000,\"runnable_ns\":3000000,\"cpu\":0,\"syscall\":\"futex\"",
	  true },
	{ "lock",
	  "{\"offset\":528944,\"module\":\"/opt/thumb/bin/"
	  "thumbnailer\",\"app\":true},{\"address\":\"0x7ffff7fc1234\"}]",
	  true },
	{ "hang", "{\"type\":\"hang\"", true },
	{ "hang", "\"severity\":\"hang\"", true },
	{ "hang", "\"open\":true", true },
	{ "hang", "\"loop\":\"android-looper\"", true },
	{ "hang_end", "{\"type\":\"block\"", true },
	{ "hang_end", "\"severity\":\"hang\"", true },
	{ "hang_end",
	  "\"dropped_frames\":300,\"frames\":{\"missed\":317,\"refresh_hz\":59.9,\"crtc\":1},",
	  true },
	{ "hang_end", ",\"hang_reported\":true,\"thread_ended\":true}", true },
	{ "hang", "\"hang_reported\"", false },
	{ "hang", "\"thread_ended\"", false },
	{ "hang", "\"frames\"", false },
	{ "bare", "\"cpu\":{\"busy\":false}", true },
	{ "bare", "\"cause\"", false },
	{ "bare", "\"exe\"", false },
	{ "bare", "\"cgroup\"", false },
	{ "bare", "\"container\"", false },
	{ "bare", "\"version\"", false },
	{ "bare", "\"reduced\"", false },
	{ "cpu",
	  "\"service_name\":\"cart\",\"service_version\":\"2.7.1\",\"service_namespace\":\"shop\","
	  "\"deployment_environment\":\"production\",\"version\":\"2.7.1\",\"reduced\":\"marks\"",
	  true },
	{ "bare", "\"ns_pid\"", false },
	{ "bare", "\"uid\"", false },
	{ "cpu", "\"container\":\"3f8a2c1b9d7e", true },
	{ "cpu",
	  "\"pod\":\"7f3b1d2e-0a9c-4b8d-9e6f-112233445566\",\"unit\":\"redis-server.service\"",
	  true },
	{ "cpu", "\"names_uid\":1000", true },
	{ "bare", "\"names_uid\"", false },
	{ "cpu", "\"ns_pid\":17,\"loop\":\"epoll\"", true },
	{ "lock", "\"loop\":\"libuv\"", true },
	{ "hostile", "\"process\":\"a\\\"b\\\\c??d?[31m\"", true },
	{ "hostile", "{\"address\":\"0xffffffffffffffff\"}", true },
	{ "hostile", "\"state\":\"other\"", true },
	{ "hostile", "\"share\":1.0000", true },
	{ "qt",
	  "\"message\":{\"what\":\"QTimerEvent\",\"handler\":{\"symbol\":\"app::Window<int>\","
	  "\"module\":\"/usr/bin/kcalc\"},\"callback\":{\"module\":\"/usr/lib/libx.so\","
	  "\"offset\":4660},\"source\":{\"symbol\":\"frame clock\"},\"queued_ns\":35000000},",
	  true },
	{ "ready",
	  "\"message\":{\"fd\":8,\"fd_target\":\"tcp 127.0.0.1:6379->127.0.0.1:51234\","
	  "\"events\":\"in|hup|rdhup\",\"ready\":5,\"also_ready\":[{\"fd\":9,\"fd_target\":"
	  "\"eventfd 12\",\"events\":\"in|0x40000000\"}]},",
	  true },
	{ "chain",
	  "\"cause\":{\"kind\":\"futex\",\"what\":\"mutex\",\"share\":0.7500,\"summary\":\"waited "
	  "150 ms for a mutex held by thread 'indexer' (tid 4711), which waited 139 ms for the "
	  "disk "
	  "in fsync ← flush_index\",\"confidence\":0.95,\"frame\":{\"function\":\"index_lock\",",
	  true },
	{ "chain",
	  "\"signature\":\"a1b2c3d4e5f60718\",\"parts\":[{\"kind\":\"futex\",\"what\":\"mutex\","
	  "\"share\":0.7500,\"frame\":{\"function\":\"index_lock\",",
	  true },
	{ "chain", "},{\"kind\":\"socket\",\"share\":0.2000}],\"signature_version\":2}", true },
	{ "chain",
	  "\"iowait_pct\":0.1,\"steal_pct\":2.5,\"psi\":{\"cpu\":12.2,\"memory\":0.0,\"io\":71.0}},"
	  "\"scheduling\":{\"priority\":\"nice 0\",\"policy\":\"normal\",\"cpus_allowed\":2,"
	  "\"throttled_ns\":4000000,\"stolen_ns\":0,\"quota_cgroup\":\"/limited\","
	  "\"quota_ns\":20000000,\"quota_period_ns\":100000000,"
	  "\"cpu_capacity\":512,\"cpu_khz\":800000,"
	  "\"cpu_max_khz\":2400000,\"thermal_throttled\":true,\"numa_node\":0},"
	  "\"faults\":{\"major\":3,\"minor\":"
	  "1200},",
	  true },
	{ "chain",
	  "\"cpu\":3,\"syscall\":\"futex\",\"waited_for\":{\"futex_owner\":{\"tid\":4711,\"comm\":"
	  "\"indexer\"}},\"waker\":{\"pid\":4700,\"tid\":4711,\"comm\":\"indexer\",\"stack\":[{"
	  "\"function\":\"try_to_wake_up\",",
	  true },
	{ "chain",
	  "\"waited_for\":{\"fd\":7,\"target\":\"unix stream\",\"peer\":\"unix /run/speller.sock\","
	  "\"peer_task\":{\"pid\":501,\"tid\":501,\"comm\":\"speller\"},\"timeout_ns\":250000000,"
	  "\"bytes\":4096},",
	  true },
	{ "chain",
	  "\"chain\":[{\"role\":\"woke\",\"pid\":4700,\"tid\":4711,\"comm\":\"indexer\","
	  "\"priority\":"
	  "\"nice 10\",\"t_ns\":5000001000123,\"ns\":150000000,\"state\":\"disk\",\"time\":{"
	  "\"running_ns\":2000000,\"runnable_ns\":8000000,\"blocked_ns\":{\"disk\":139000000}},"
	  "\"syscall\":\"fsync\",\"waited_for\":{\"fd\":12,\"path\":\"/var/lib/index/segment.7\","
	  "\"device\":\"vda1\"},\"stack\":[{\"function\":\"io_schedule\",",
	  true },
	{ "chain",
	  "\"preemptors\":[{\"pid\":8123,\"tid\":8123,\"comm\":\"cc1plus\",\"ns\":6000000,"
	  "\"cgroup\":\"/user.slice/build.scope\"},{\"pid\":55,\"tid\":55,\"comm\":\"irq/9-acpi\","
	  "\"ns\":1000000,\"priority\":\"real-time 50\"}]}",
	  true },
	{ "chain",
	  "{\"role\":\"woke\",\"pid\":310,\"tid\":310,\"comm\":\"jbd2/vda1-8\",\"process\":\"jbd2/"
	  "vda1-8\",\"t_ns\":5000003000123,\"ns\":139000000,\"stack\":[]}],"
	  "\"chain_sample\":5000001000123,",
	  true },
	{ "hostile", "\"role\":\"held\"", true },
	{ "hostile", "\"futex_owner\":{\"tid\":3}", true },
	{ "hostile", "\"confidence\":0.00", true },
	{ "hostile", "\"priority\"", false },
	{ "hostile", "\"chain_sample\"", false },
	{ "hostile", "\"timeout_ns\"", false },
	{ "lock", "\"waited_for\"", false },
	{ "lock", "\"chain\"", false },
	{ "lock", "\"summary\"", false },
	{ "lock", "\"parts\"", false },
	{ "lock", "\"scheduling\"", false },
	{ "lock", "\"faults\"", false },
	{ "lock", "\"psi\"", false },
	{ "states",
	  "{\"address\":\"0xffffffff81000003\",\"kernel\":true},{\"address\":\"0x400000\"}", true },
	{ "states", "\"blocked_ns\":{\"futex\":3000000,\"disk\":4000000,", true },
};

static void test_parts(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		check_line(parts[i].fixture, parts[i].part, parts[i].wanted);
}

static void test_summary(void)
{
	struct summary summary = fixture__summary();
	struct strbuf line = STRBUF_INIT;

	fixture__add_summary(&line, &summary);
	has_str(line.data, "\"dispatches\":1234567,\"blocks\":42,\"hangs\":1,\"lost\":{},",
		"counts");
	has_str(line.data, "\"ns_per_dispatch\":142.6}", "cost per dispatch");
	has_str(line.data,
		"\"process\":\"redis-server\",\"dispatches\":1234000,\"blocks\":40,\"log2\":[0,0,0,"
		"0,0,0,0,0,0,0,0,400,20000,",
		"a histogram, from bucket 11 on");
	lacks_str(line.data, "over_share", "nobody over the share: no list");
	strbuf__reset(&line);
	over_shares__add(&summary.over_share, 1000, JANK_SHARE_RECORD, 7);
	over_shares__add(&summary.over_share, UID_UNKNOWN, JANK_SHARE_STACK, 8);
	over_shares__add(&summary.over_share, UID_UNKNOWN, JANK_SHARE_THREAD, 9);
	fixture__add_summary(&line, &summary);
	has_str(line.data,
		"\"over_share\":[{\"uid\":1000,\"records\":7},{\"stacks\":8,\"threads\":9}]",
		"users over the share");
	strbuf__reset(&line);
	summary.bpf_known = false;
	summary.dispatch_cnt = 0;
	fixture__add_summary(&line, &summary);
	has_str(line.data, "\"cost\":{\"user_cpu_ns\":1200000000,\"rss_kb\":31744}",
		"unknown cost is left out");
	summary__free(&summary);
	strbuf__free(&line);
}

/* A datagram holds what one write() wrote. */
static void test_one_write(void)
{
	static char buf[1 << 20];
	struct sink *sink;
	int fds[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		abort();
	sink = sink_stream__new(fds[0], RECORD_JSON);
	is_int(send_block(sink, fixture__cpu()), 0, "a line into a socket");
	n = recv(fds[1], buf, sizeof(buf), MSG_DONTWAIT);
	ok(n > 1000 && buf[0] == '{' && buf[n - 1] == '\n' && memchr(buf, '\n', n) == buf + n - 1,
	   "one write, one line");
	is_int(recv(fds[1], buf, sizeof(buf), MSG_DONTWAIT), -1, "and nothing after it");
	close(fds[1]);
	is_int(send_block(sink, fixture__cpu()), -EPIPE, "a reader that has left is EPIPE");
	sink->ops->free(sink);
	close(fds[0]);
}

static void test_pipe(void)
{
	struct sink *sink;
	char schema[256];
	int fds[2];
	pid_t pid;
	int status;

	if (pipe2(fds, O_NONBLOCK))
		abort();
	in_dir(schema, sizeof(schema), "piped.jsonl");
	pid = fork();
	if (!pid) { /* a slow reader of a pipe that holds less than a line */
		int to = open(schema, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		struct pollfd pfd = { .fd = fds[0], .events = POLLIN };
		char buf[5000];
		ssize_t n = 1;

		close(fds[1]);
		while (n && poll(&pfd, 1, -1) >= 0 && (n = read(fds[0], buf, sizeof(buf))) >= 0) {
			usleep(200);
			if (file__write_all(to, buf, n))
				_exit(1);
		}
		_exit(n < 0);
	}
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	sink = sink_stream__new(fds[1], RECORD_JSON);
	is_int(send_block(sink, fixture__cpu()), 0, "a full non-blocking pipe is waited for");
	close(fds[1]);
	waitpid(pid, &status, 0);
	slurp(schema, &out);
	ok(out.len > 40000 && out.data[out.len - 1] == '\n', "the whole line arrived");
	sink->ops->free(sink);
	close(fds[0]);
}

/* No room: no part of the line remains, and the next one is whole. */
static void test_no_room(int flags, const char *what)
{
	struct stat before, after;
	struct sink *sink;
	char path[256];
	int fd;

	in_dir(path, sizeof(path), "limited.jsonl");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | flags, 0600);
	sink = sink_stream__new(fd, RECORD_JSON);
	is_int(send_block(sink, fixture__bare()), 0, "%s: first line", what);
	fstat(fd, &before);
	limit_file_size(before.st_size + 100);
	is_int(send_block(sink, fixture__bare()), -EFBIG, "%s: no room is an error", what);
	limit_file_size(before.st_size);
	is_int(send_block(sink, fixture__bare()), -EFBIG, "%s: not a byte of room, too", what);
	limit_file_size(RLIM_INFINITY);
	fstat(fd, &after);
	is_int(after.st_size, before.st_size, "%s: nothing torn remains", what);
	is_int(send_block(sink, fixture__bare()), 0, "%s: with room it continues", what);
	slurp(path, &out);
	is_int(out.len, 2 * before.st_size, "%s: two whole lines", what);
	ok(!memcmp(out.data, out.data + before.st_size, before.st_size), "%s: alike", what);
	sink->ops->free(sink);
	close(fd);
}

static void test_full(void)
{
	int fd = open("/dev/full", O_WRONLY);
	struct sink *sink = sink_stream__new(fd, RECORD_JSON);

	is_int(send_block(sink, fixture__cpu()), -ENOSPC, "/dev/full is full");
	sink->ops->free(sink);
	close(fd);
	sink = sink_stream__new(-1, RECORD_JSON);
	is_int(send_block(sink, fixture__cpu()), -EBADF, "no descriptor");
	sink->ops->free(sink);
}

int main(void)
{
	ignore_signals();
	scratch__init();
	test_schema();
	test_validator();
	test_parts();
	test_summary();
	test_one_write();
	test_pipe();
	test_no_room(0, "at a position");
	test_no_room(O_APPEND, "appending");
	test_full();
	strbuf__free(&out);
	return tap__done();
}
