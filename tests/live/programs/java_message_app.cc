// SPDX-License-Identifier: GPL-2.0
//
// An app on the stand-ins for the framework (java_message.c) and for ART, over the real
// android::Looper. Arguments: the layout of android.os.Message (0: old, 1: new), ms between two
// messages, and the DEX files of three handlers; without these the handlers are compiled.
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utils/Looper.h>

extern "C" {
#include "art_dex.h"
#include "java_message.h"

int tick();
}

namespace
{

constexpr uint64_t TICK_NS = 20000;

android::sp<android::Looper> looper;
art_dex dexes[3];
uint64_t end_ns; // of the message, in CPU time

void poll_once(int timeout_ms)
{
	looper->pollOnce(timeout_ms);
}

void interpret(unsigned handler)
{
	end_ns = java_now(CLOCK_THREAD_CPUTIME_ID) + JAVA_BUSY_NS;
	art_run(&dexes[handler]);
}

void load(const char *path, art_dex *ret)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		abort();
	ret->bytes = static_cast<const uint8_t *>(
		mmap(nullptr, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0));
	if (ret->bytes == MAP_FAILED)
		abort();
	ret->native = tick;
	art_add_dex(ret->bytes, st.st_size);
}

} // namespace

int tick()
{
	uint64_t end = java_now(CLOCK_THREAD_CPUTIME_ID) + TICK_NS;

	while (java_now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	return end >= end_ns;
}

int main(int argc, char **argv)
{
	java_app app = {};

	if (argc != 3 && argc != 6)
		return 2;
	app.is_new = atoi(argv[1]);
	app.pause_ms = atoi(argv[2]);
	app.poll_once = poll_once;
	for (int i = 3; i < argc; i++)
		load(argv[i], &dexes[i - 3]);
	app.interpret = argc > 3 ? interpret : nullptr;
	looper = android::Looper::prepare(0);
	java_loop_once(&app);
}
