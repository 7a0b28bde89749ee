/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What threads without a dispatch do while another one waits for them, and what a span off the CPU
 * waited for.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/bpf/logic_run.h"

/*
 * The first argument of the system call that runs a program (uapi/linux/bpf.h): here a descriptor.
 */
#define THE_FD 10

#define MS 1000000ull

static uint64_t now;	/* a made-up clock */
static uint64_t class_; /* this thread's scheduling class */

static void begin_in(uint64_t fair_class, unsigned class)
{
	struct jank_conf conf = logic__conf();
	struct event event;

	conf.fair_class = fair_class;
	conf.span_min_ns = MS;
	conf.watch_ns = 2 * MS;
	conf.syscall_class[__NR_bpf] = class;
	logic__begin_with(&conf);
	now = 1000 * MS;
	class_ = STEP(WATCH, .now_ns = now, .arg = 100).key;
	logic__received(0, &event);
}

static void begin(unsigned class)
{
	begin_in(class_, class);
}

static uint64_t switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* What the probes keep of this thread while it is watched. */
static char kept[4096];

static void keep(void)
{
	const struct bpf_map *others = logic.skel->maps.jank_others;
	uint32_t at = gettid() & (bpf_map__max_entries(others) - 1);

	if (bpf_map__value_size(others) > sizeof(kept) ||
	    bpf_map_lookup_elem(bpf_map__fd(others), &at, kept))
		abort();
}

static void restore(void)
{
	const struct bpf_map *others = logic.skel->maps.jank_others;
	uint32_t at = gettid() & (bpf_map__max_entries(others) - 1);

	if (bpf_map_update_elem(bpf_map__fd(others), &at, kept, BPF_ANY))
		abort();
}

/*
 * The steps form one span off the CPU only as long as this thread does not really leave it. If it
 * did, they are done again, from the same state: steps of before would have used up its budget.
 */
#define UNDISTURBED(...)                                                                           \
	do {                                                                                       \
		uint64_t before_;                                                                  \
		struct event drop_;                                                                \
		keep();                                                                            \
		do {                                                                               \
			logic__received(0, &drop_);                                                \
			restore();                                                                 \
			before_ = switches();                                                      \
			__VA_ARGS__                                                                \
		} while (switches() != before_);                                                   \
	} while (0)

#define LEAVE_AT(ns, state) STEP(OTHER_LEAVE, .now_ns = now + (ns), .task_state = (state))
#define WAKE_AT(ns)	    STEP(OTHER_WAKE, .now_ns = now + (ns))
#define ARRIVE_AT(ns)	    STEP(OTHER_ARRIVE, .now_ns = now + (ns))

static void test_span(void)
{
	struct event event;

	begin(JANK_CLASS_SOCKET);
	UNDISTURBED({
		LEAVE_AT(1000000, TASK_INTERRUPTIBLE);
		WAKE_AT(4000000);
		ARRIVE_AT(6000000);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "a span off the CPU is sent");
	is_uint(event.stack.rec.t_ns, now + 1000000, "with its begin");
	is_uint(event.stack.rec.ns, 5000000, "its length");
	is_uint(event.stack.rec.runnable_ns, 2000000, "the part after the wake-up");
	is_uint(event.stack.rec.state, JANK_STATE_SOCKET, "the state");
	is_int(event.stack.rec.syscall, __NR_bpf, "the system call");
	is_uint(event.stack.rec.prio, 120 + getpriority(PRIO_PROCESS, 0) + JANK_PRIO_OFFSET,
		"the priority");
	ok(event.stack.rec.waker.ns > 0, "the thread's CPU time");
	ok(event.stack.rec.user_cnt >= 1, "with a user stack");
	ok(!(event.hdr.flags & JANK_STACK_BEFORE), "seen from its begin");
}

static void test_short(void)
{
	struct event event;

	begin(JANK_CLASS_SOCKET);
	UNDISTURBED({
		LEAVE_AT(1000000, TASK_INTERRUPTIBLE);
		WAKE_AT(1100000);
		ARRIVE_AT(1900000);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 0, "a short one is not sent");
}

static void test_preempted(void)
{
	struct event event;

	begin(JANK_CLASS_SOCKET);
	UNDISTURBED({
		STEP(OTHER_LEAVE, .now_ns = now, .preempted = 1);
		STEP(SLICE, .now_ns = now + 1000000);
		ARRIVE_AT(3000000);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "a thread that lost the CPU");
	is_uint(event.stack.rec.state, JANK_STATE_RUNNABLE, "was runnable");
	is_uint(event.stack.rec.runnable_ns, 3000000, "all the while");
}

/* The thread left the CPU 300 ms ago: a running one seems to have left it at its last tick. */
#define SLEPT_MS 300

static void test_before(void)
{
	struct event event;
	uint64_t slept_ns;

	begin(JANK_CLASS_FUTEX);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100, .sp = now - SLEPT_MS * MS);
		WAKE_AT(5 * MS);
		ARRIVE_AT(6 * MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "a sleep from before is sent, too");
	ok(event.hdr.flags & JANK_STACK_BEFORE, "as such");
	is_uint(event.stack.rec.state, JANK_STATE_FUTEX, "with the state");
	slept_ns = event.stack.rec.ns - 6 * MS;
	ok(slept_ns > (SLEPT_MS - 50) * MS && slept_ns < (SLEPT_MS + 50) * MS,
	   "since its begin, %llu ns before the watch", (unsigned long long)slept_ns);
	is_uint(event.stack.rec.runnable_ns, MS, "the part after the wake-up");
	is_uint(event.stack.rec.user_cnt, 1, "with its own address, and no callers");
}

/* Returns how many spans from before the watch are sent. */
static unsigned sent_before(uint64_t fair_class)
{
	struct event event;

	begin_in(fair_class, JANK_CLASS_FUTEX);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100, .sp = now - SLEPT_MS * MS);
		WAKE_AT(5 * MS);
		ARRIVE_AT(6 * MS);
	});
	return logic__received(JANK_REC_OTHER, &event);
}

/* A kernel without sched_ext: the priority shows the class. */
static void test_by_priority(void)
{
	struct sched_param rt = { .sched_priority = 1 }, fair = {};

	is_uint(sent_before(JANK_FAIR_BY_PRIO), 1, "known by the priority, too");
	if (sched_setscheduler(0, SCHED_FIFO, &rt))
		abort();
	is_uint(sent_before(JANK_FAIR_BY_PRIO), 0, "not with a real-time priority");
	if (sched_setscheduler(0, SCHED_OTHER, &fair))
		abort();
}

/* Nothing tells what the thread did before. */
static void test_unknown(void)
{
	struct event event;

	begin(JANK_CLASS_FUTEX);
	UNDISTURBED({
		WAKE_AT(5 * MS);
		ARRIVE_AT(6 * MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 0, "without the clocks' offset: nothing");
	is_uint(sent_before(0), 0, "nor in a class that keeps no times");
}

/* The thread leaves the CPU at from, and is back len later. */
#define SPAN_AT(from, len)                                                                         \
	do {                                                                                       \
		LEAVE_AT(from, TASK_INTERRUPTIBLE);                                                \
		WAKE_AT((from) + (len));                                                           \
		ARRIVE_AT((from) + (len));                                                         \
	} while (0)

/* Once a watch lasts, the thread's times stand for its shorter spans. */
static void test_covered(void)
{
	struct event event;
	uint64_t lost;

	begin(JANK_CLASS_SOCKET);
	lost = logic__lost(JANK_LOST_EVIDENCE);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100);
		for (int i = 0; i < 4; i++)
			SPAN_AT((1 + 2 * i) * MS, MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 4, "at first each span is sent");
	UNDISTURBED({ SPAN_AT(500 * MS, MS); });
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "later the first one");
	UNDISTURBED({ SPAN_AT(510 * MS, MS); });
	is_uint(logic__received(JANK_REC_OTHER, &event), 0, "no short one soon after it");
	UNDISTURBED({ SPAN_AT(512 * MS, 17 * MS); });
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "but a long one");
	UNDISTURBED({ SPAN_AT(546 * MS, MS); });
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "and a short one after a while");
	is_uint(logic__lost(JANK_LOST_EVIDENCE), lost, "nothing is lost");
}

/* Of a thread that leaves often, not every stack is taken. */
static void test_burst(void)
{
	struct event event;

	begin(JANK_CLASS_SOCKET);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100);
		for (int i = 0; i < 12; i++)
			LEAVE_AT((10 + i) * MS, TASK_INTERRUPTIBLE);
		ARRIVE_AT(26 * MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "a thread leaves again and again");
	is_uint(event.stack.rec.t_ns, now + 17 * MS, "the first eight stacks are taken");
}

#define RESTS(from, len) STEP(OTHER_RESTS, .now_ns = now + (from), .arg = (len)).key

/* Of its stacks 14 ms, of its records 16 ms, are from one to the next. */
static void test_rest(void)
{
	begin(JANK_CLASS_SOCKET);
	is_uint(RESTS(MS, MS), 0, "a thread that was not seen does not rest");
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100);
		for (int i = 0; i < 8; i++)
			SPAN_AT((10 + 2 * i) * MS, MS);
	});
	is_uint(RESTS(26 * MS, MS), 0, "nor one that needs a stack");
	UNDISTURBED({ SPAN_AT(26 * MS, MS); });
	is_uint(RESTS(30 * MS, 7 * MS), 3, "it rests, and is off the CPU for a short time");
	is_uint(RESTS(30 * MS, 9 * MS), 1, "until its next stack");
	is_uint(RESTS(38 * MS, MS), 0, "it has rested");
	STEP(WATCH, .now_ns = now + 1, .arg = 100);
	is_uint(RESTS(30 * MS, MS), 0, "another watch");
	begin_in(class_ + 1, JANK_CLASS_SOCKET);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 100);
		for (int i = 0; i < 9; i++)
			SPAN_AT((10 + 2 * i) * MS, MS);
	});
	is_uint(RESTS(30 * MS, MS), 0, "nor one of another class");
}

/* The slot still has the time before. */
static void test_stale(void)
{
	struct event event;

	begin(JANK_CLASS_SOCKET);
	LEAVE_AT(1000000, TASK_INTERRUPTIBLE);
	for (uint64_t before = switches(); switches() == before;)
		usleep(1000);
	ARRIVE_AT(9000000);
	is_uint(logic__received(JANK_REC_OTHER, &event), 0,
		"its time while nobody watched is not sent as a span");
}

/* In another class than the fair one, a span without a stack is not known. */
static void test_tokens(void)
{
	uint64_t lost;
	struct event event;

	begin_in(0, JANK_CLASS_SOCKET);
	UNDISTURBED({
		STEP(WATCH, .now_ns = now, .arg = 1);
		lost = logic__lost(JANK_LOST_EVIDENCE);
		LEAVE_AT(MS, TASK_INTERRUPTIBLE);
		ARRIVE_AT(3 * MS);
		LEAVE_AT(4 * MS, TASK_INTERRUPTIBLE);
		ARRIVE_AT(8 * MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "of two stacks one was allowed");
	is_uint(event.stack.rec.ns, 2 * MS, "the first");
	is_uint(logic__lost(JANK_LOST_EVIDENCE) - lost, 1, "the other is counted as lost");
	UNDISTURBED({
		LEAVE_AT(30 * MS, TASK_INTERRUPTIBLE);
		ARRIVE_AT(33 * MS);
	});
	is_uint(logic__received(JANK_REC_OTHER, &event), 1, "later one is allowed again");
}

/* The object of the wait, by the descriptor. fd is closed. */
static struct jank_rec_waited waited_on(int fd, unsigned class)
{
	struct event event;

	begin(class);
	dup2(fd, THE_FD);
	close(fd);
	UNDISTURBED({
		LEAVE_AT(1000000, TASK_INTERRUPTIBLE);
		ARRIVE_AT(9000000);
	});
	is_uint(logic__received(JANK_REC_WAITED, &event), 1, "the object of the wait");
	dup2(STDIN_FILENO, THE_FD);
	is_int(event.waited.fd, THE_FD, "a descriptor");
	is_uint(event.waited.args[0], THE_FD, "with the call's argument");
	return event.waited;
}

static void test_file(void)
{
	char dir[] = "/tmp/test_logic_watch.XXXXXX", path[64];
	struct jank_rec_waited rec;
	struct stat st;
	int fd;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/a file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	fstat(fd, &st);
	rec = waited_on(fd, JANK_CLASS_FILE_FD);
	ok(rec.hdr.flags & JANK_WAITED_FILE, "a file");
	is_uint(rec.inode, st.st_ino, "by its number");
	is_uint(rec.mode, st.st_mode, "by its mode");
	is_uint(rec.dev, major(st.st_dev) << 20 | minor(st.st_dev), "by its device");
	is_str(rec.name, "a file", "by its name");
	is_str(rec.name + 7, strrchr(dir, '/') + 1, "by its folder's name");
	unlink(path);
	rmdir(dir);
}

static void test_anonymous(void)
{
	struct jank_rec_waited rec = waited_on(eventfd(0, 0), JANK_CLASS_FD);

	is_str(rec.name, "[eventfd]", "an eventfd");
	ok(!(rec.hdr.flags & JANK_WAITED_SOCKET), "is no socket");
}

static void test_unix(void)
{
	struct sockaddr_un sa = { AF_UNIX, "\0test_logic_watch" };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 17;
	struct jank_rec_waited rec;

	bind(listener, (void *)&sa, len);
	listen(listener, 1);
	is_int(connect(fd, (void *)&sa, len), 0, "connected to an abstract name");
	rec = waited_on(fd, JANK_CLASS_SOCKET);
	ok(rec.hdr.flags & JANK_WAITED_SOCKET && rec.family == AF_UNIX && rec.type == SOCK_STREAM,
	   "a unix stream");
	is_str(rec.name, "@test_logic_watch", "the peer's name");
	is_uint(rec.peer_pid, getpid(), "and the listening process");
	close(listener);
}

static void test_tcp(int family)
{
	struct sockaddr_in6 sa = { .sin6_family = family };
	int listener = socket(family, SOCK_STREAM, 0), fd = socket(family, SOCK_STREAM, 0);
	struct sockaddr_in *in = (void *)&sa;
	socklen_t len = family == AF_INET ? sizeof(*in) : sizeof(sa);
	struct jank_rec_waited rec;

	if (family == AF_INET)
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		sa.sin6_addr = in6addr_loopback;
	if (bind(listener, (void *)&sa, len) || listen(listener, 1)) {
		skip(8, "no loopback of family %d", family);
		return;
	}
	getsockname(listener, (void *)&sa, &len);
	is_int(connect(fd, (void *)&sa, len), 0, "connected");
	rec = waited_on(fd, JANK_CLASS_SOCKET);
	is_uint(rec.family, family, "family %d", family);
	is_uint(rec.dport, ntohs(sa.sin6_port), "the peer's port");
	is_uint(rec.state, 1, "established");
	ok(!memcmp(rec.daddr, family == AF_INET ? (void *)&in->sin_addr : (void *)&sa.sin6_addr,
		   family == AF_INET ? 4 : 16),
	   "the peer's address");
	close(listener);
}

int main(void)
{
	dup2(STDIN_FILENO, THE_FD); /* before anything else takes the number */
	LOGIC_START("logic_wait", "logic_sched", "logic_watch");
	begin(JANK_CLASS_SOCKET); /* sets class_ */
	test_span();
	test_short();
	test_preempted();
	test_before();
	test_by_priority();
	test_unknown();
	test_covered();
	test_burst();
	test_rest();
	test_stale();
	test_tokens();
	test_file();
	test_anonymous();
	test_unix();
	test_tcp(AF_INET);
	test_tcp(AF_INET6);
	return logic__done();
}
