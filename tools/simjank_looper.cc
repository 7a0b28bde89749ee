// SPDX-License-Identifier: GPL-2.0-or-later
//
// simjank's loop over the real android::Looper. Work comes in three forms: a message handled inside
// pollOnce, a descriptor's callback inside pollOnce, and work after pollOnce has returned, as
// Android's Java side does it. One of them per turn: the next work is posted after pollOnce has
// returned.
//
// The dispatch that a tracer sees begins when epoll_wait returns inside pollOnce, which a program
// cannot see. So the truth begins where the first handler runs, or where pollOnce returned, some
// microseconds later.
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utils/Looper.h>

#include "simjank_loop.h"

namespace
{

enum Form { FORM_MESSAGE, FORM_FD, FORM_AFTER };
const char *const form_names[] = { "message", "fd", "after", nullptr };

class LooperFront : public android::MessageHandler, public android::LooperCallback
{
      public:
	explicit LooperFront(struct loop *owner) : loop(owner)
	{
	}

	int open();
	[[noreturn]] void run();
	void kick();
	void arm();

      private:
	void handleMessage(const android::Message &message) override;
	int handleEvent(int fd, int events, void *data) override;
	void disarm();
	void begin();
	void handle();
	bool afterIsDue() const;
	int timeoutMs() const;

	struct loop *loop;
	android::sp<android::Looper> looper;
	int timer_fd = -1, post_fd = -1;
	bool begun = false, handled = false;
	uint64_t after_ns = 0; // when work of the form `after` is due; 0: none is
};

int LooperFront::open()
{
	looper = android::Looper::prepare(0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	post_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (int fd : { timer_fd, post_fd })
		if (fd < 0 || looper->addFd(fd, android::Looper::POLL_CALLBACK,
					    android::Looper::EVENT_INPUT, this, nullptr) != 1)
			return errno ? -errno : -EINVAL;
	return 0;
}

void LooperFront::begin()
{
	if (!begun)
		loop__begin(loop);
	begun = true;
}

void LooperFront::handle()
{
	begin();
	loop__handle(loop);
	handled = true;
}

void LooperFront::handleMessage(const android::Message &)
{
	handle();
}

int LooperFront::handleEvent(int fd, int, void *)
{
	uint64_t value;

	begin();
	if (read(fd, &value, sizeof(value)) == sizeof(value))
		handle();
	return 1;
}

bool LooperFront::afterIsDue() const
{
	return after_ns && clock__mono_ns() >= after_ns;
}

// Rounded up, as a Looper does it: too early would cost a turn without work.
int LooperFront::timeoutMs() const
{
	uint64_t now_ns = clock__mono_ns();

	if (!after_ns)
		return -1;
	return now_ns < after_ns ? static_cast<int>((after_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS)
				 : 0;
}

void LooperFront::run()
{
	for (;;) {
		int timeout_ms = timeoutMs();

		begun = handled = false;
		looper->pollOnce(timeout_ms);
		begin();
		if (afterIsDue())
			handle();
		loop__next(loop, handled);
		loop__end(loop);
	}
}

void LooperFront::kick()
{
	looper->wake();
}

void LooperFront::disarm()
{
	struct itimerspec timer = {};

	after_ns = 0;
	timerfd_settime(timer_fd, 0, &timer, nullptr);
	looper->removeMessages(this);
}

void LooperFront::arm()
{
	const struct plan &plan = loop->plan;
	struct itimerspec timer = {};

	disarm();
	if (!plan.scenario)
		return;
	if (plan.scenario == &scenarios[SCENARIO_idle]) {
		after_ns = clock__mono_ns() + plan.length_ns;
	} else if (plan.form == FORM_AFTER) {
		after_ns = clock__mono_ns() + plan.delay_ns;
	} else if (plan.form == FORM_MESSAGE) {
		looper->sendMessageDelayed(
			static_cast<nsecs_t>(plan.delay_ns), this,
			android::Message(static_cast<int>(plan.scenario - scenarios)));
	} else if (plan.delay_ns) {
		timer.it_value = clock__timespec(plan.delay_ns);
		timerfd_settime(timer_fd, 0, &timer, nullptr);
	} else {
		eventfd_write(post_fd, 1);
	}
}

LooperFront *front__of(struct loop *loop)
{
	return static_cast<LooperFront *>(loop->front);
}

int front__open(struct loop *loop)
{
	LooperFront *front = new LooperFront(loop);

	front->incStrong(loop); // for as long as the program runs
	loop->front = front;
	return front->open();
}

} // namespace

extern "C" {
extern const struct front front_end;
const struct front front_end = {
	.words = { .loop = "android-looper", .forms = form_names, .wait_calls = nullptr },
	.open = front__open,
	.run = [](struct loop *loop) { front__of(loop)->run(); },
	.kick = [](struct loop *loop) { front__of(loop)->kick(); },
	.arm = [](struct loop *loop) { front__of(loop)->arm(); },
};
}
