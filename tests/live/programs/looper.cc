// SPDX-License-Identifier: GPL-2.0
//
// A program around the real android::Looper that stalls on command: one letter on stdin, which is
// also the answer when it is done. Blocks must blame its functions by name. A walk by frame
// pointers misses the caller of libc's functions, which have no frames: here it is always a helper.
#include <atomic>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utils/Looper.h>

using android::Looper;
using android::sp;

namespace
{

constexpr long MS = 1000000;
constexpr long WORK_NS = 60 * MS;

long now_ns()
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

void done(char command)
{
	if (write(STDOUT_FILENO, &command, 1) != 1)
		_exit(1);
}

#define APART __attribute__((noinline))

APART void sleep_ns(long ns)
{
	struct timespec ts = { 0, ns };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, nullptr);
}

APART void wait_ms(int epfd, int ms)
{
	struct epoll_event event;

	epoll_wait(epfd, &event, 1, ms);
}

} // namespace

extern "C" {
// extern "C", so that blocks have the plain names.
APART void busy_in_message(long ns)
{
	long end_ns = now_ns() + ns;

	for (volatile long spins = 0; now_ns() < end_ns;)
		for (int i = 0; i < 10000; i++)
			spins = spins + 1;
}

APART void sleep_in_callback()
{
	sleep_ns(WORK_NS);
}

APART void sleep_after_wake()
{
	sleep_ns(WORK_NS);
}

APART void wait_in_callback()
{
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	wait_ms(epfd, WORK_NS / MS);
	close(epfd);
}

APART void poll_own_looper(Looper *own)
{
	own->pollOnce(WORK_NS / MS);
}
}

namespace
{

class Messages : public android::MessageHandler
{
	void handleMessage(const android::Message &message) override
	{
		busy_in_message(message.what == 'm' || message.what == 'q' ? WORK_NS : WORK_NS / 3);
		if (message.what != 'b')
			done(static_cast<char>(message.what == 'e' ? 'b' : message.what));
	}
};

class Program : public android::LooperCallback
{
      public:
	Program();
	void run();

      private:
	int handleEvent(int fd, int events, void *data) override;
	void command(char letter);

	sp<Looper> looper = Looper::prepare(0);
	sp<Looper> own = new Looper(false);
	sp<Messages> messages = new Messages;
	std::atomic<bool> woken{ false };
};

Program::Program()
{
	looper->addFd(STDIN_FILENO, Looper::POLL_CALLBACK, Looper::EVENT_INPUT, this, nullptr);
}

int Program::handleEvent(int fd, int, void *)
{
	char letter;

	if (read(fd, &letter, 1) != 1)
		_exit(0);
	command(letter);
	return 1;
}

void Program::command(char letter)
{
	switch (letter) {
	case 'm': // one native message, handled inside pollOnce
		looper->sendMessage(messages, android::Message('m'));
		return;
	case 'b': // a backlog of three, each below the threshold
		for (int what : { 'b', 'b', 'e' })
			looper->sendMessage(messages, android::Message(what));
		return;
	case 'q': // due at once; handled after this callback's work
		looper->sendMessage(messages, android::Message('q'));
		sleep_in_callback();
		return;
	case 'w': // another thread wakes pollOnce; the work comes after it
		std::thread([this] {
			sleep_ns(20 * MS);
			woken = true;
			looper->wake();
		}).detach();
		return;
	case 'c':
		sleep_in_callback();
		break;
	case 'n':
		wait_in_callback();
		break;
	case 'o':
		poll_own_looper(own.get());
		break;
	}
	done(letter);
}

void Program::run()
{
	for (;;) {
		looper->pollOnce(woken ? 0 : -1);
		if (!woken)
			continue;
		woken = false;
		sleep_after_wake();
		done('w');
	}
}

} // namespace

int main()
{
	sp<Program> program = new Program;

	done('r');
	program->run();
}
