/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program for bionic, with its android::Looper: a timer's callback takes 80 ms in turn on the CPU,
 * in nanosleep and in a read of a pipe that another thread writes to. Compiled without the NDK's
 * headers, so what it needs of bionic is declared here; the classes' parts are those of
 * libutils/include/utils (Looper.h, StrongPointer.h) that callers see.
 */
extern "C" {
struct timespec {
	long tv_sec, tv_nsec;
};
struct itimerspec {
	timespec interval, value;
};
struct structors {
	void (**preinit)(), (**init)(), (**fini)();
};
int timerfd_create(int, int);
int timerfd_settime(int, int, const itimerspec *, itimerspec *);
long read(int, void *, unsigned long);
long write(int, const void *, unsigned long);
int pipe(int *);
int nanosleep(const timespec *, timespec *);
int clock_gettime(int, timespec *);
int pthread_create(long *, const void *, void *(*)(void *), void *);
int atoi(const char *);
void exit(int);
void __libc_init(void *, void (*)(), int (*)(int, char **, char **), const structors *);
}

namespace android
{
template <class T> struct sp {
	T *ptr;
	sp(const sp &);
	~sp()
	{
	} /* the Looper lives as long as the program; makes it one that is returned in memory */
	T *operator->() const
	{
		return ptr;
	}
};

struct Looper {
	static sp<Looper> prepare(int opts);
	int addFd(int fd, int ident, int events, int (*callback)(int, int, void *), void *data);
	int pollOnce(int timeout_ms, int *fd, int *events, void **data);
};
} // namespace android

#define THREAD_CPU 3
#define STALL	   80000000L

static int pipes[2];
static volatile int left;

static long cpu_ns()
{
	timespec ts;

	clock_gettime(THREAD_CPU, &ts);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

extern "C" __attribute__((noinline)) void handle_busy()
{
	for (long begin = cpu_ns(); cpu_ns() - begin < STALL;)
		for (volatile int i = 0; i < 100000; i = i + 1)
			;
}

extern "C" __attribute__((noinline)) void handle_sleep()
{
	const timespec pause = { 0, STALL };

	nanosleep(&pause, nullptr);
	left = left + 0;
}

static void *answer(void *)
{
	const timespec pause = { 0, STALL };

	nanosleep(&pause, nullptr);
	write(pipes[1], "", 1);
	return nullptr;
}

extern "C" __attribute__((noinline)) void handle_pipe()
{
	long thread;
	char byte;

	pthread_create(&thread, nullptr, answer, nullptr);
	read(pipes[0], &byte, 1);
	left = left + 0;
}

extern "C" int on_timer(int fd, int, void *)
{
	static void (*const handlers[])() = { handle_busy, handle_sleep, handle_pipe };
	long ticks;

	read(fd, &ticks, sizeof(ticks));
	handlers[left % 3]();
	left = left - 1;
	return 1;
}

extern "C" int main(int, char **argv, char **)
{
	const itimerspec pause = { { 0, 30000000 }, { 1, 0 } };
	android::sp<android::Looper> looper = android::Looper::prepare(0);
	int timer = timerfd_create(1, 0);

	left = atoi(argv[1]);
	pipe(pipes);
	timerfd_settime(timer, 0, &pause, nullptr);
	looper->addFd(timer, 0, 1, on_timer, nullptr);
	while (left > 0)
		looper->pollOnce(-1, nullptr, nullptr, nullptr);
	return 0;
}

/* As bionic/libc/arch-common/bionic/crtbegin.c: arrays of constructors end with 0. */
static void (*none[])() = { (void (*)()) - 1, nullptr };
static const structors no_structors = { none, none, none };

extern "C" __attribute__((used)) void start(void *args)
{
	__libc_init(args, nullptr, main, &no_structors);
}

__asm__(".globl _start\n"
	".type _start, %function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"	mov x0, sp\n"
	"	bl start\n"
	"	brk #1\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
