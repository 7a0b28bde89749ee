/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads commands, a line each, and answers each with a line: calls a library's function, loads
 * libraries, forks, execs. The first argument is the tag that it passes in calls. LINKED: the
 * program is linked with the library.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*message_fn)(long tag);

static char **args;
static message_fn message, other;

#ifdef LINKED
void follow_message(long tag);
void follow_other(long tag);
#endif

static void *symbol(const char *path, const char *name)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		fprintf(stderr, "# %s\n", dlerror());
	return lib ? dlsym(lib, name) : NULL;
}

static void load(const char *path)
{
	message = (message_fn)symbol(path, "follow_message");
	other = (message_fn)symbol(path, "follow_other");
}

/*
 * "ARCHIVE OFFSET LIBRARY": maps the library that is stored in the archive, as Android's linker
 * does. LIBRARY, the same library as a file, says where its function is.
 */
static void load_stored(const char *what)
{
	char archive[512], library[512];
	size_t offset, into, len = 1 << 16;
	Dl_info info;
	uint8_t *base;
	void *sym;
	int fd;

	if (sscanf(what, "%511s %zu %511s", archive, &offset, library) != 3)
		exit(3);
	sym = symbol(library, "follow_message");
	if (!sym || !dladdr(sym, &info))
		exit(3);
	into = (size_t)((uint8_t *)sym - (uint8_t *)info.dli_fbase);
	fd = open(archive, O_RDONLY);
	base = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Its text has the same offset in the file as in memory, by the way it is linked. */
	if (mmap(base + into / 4096 * 4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		 fd, (off_t)(offset + into / 4096 * 4096)) == MAP_FAILED)
		exit(4);
	message = (message_fn)(base + into);
	close(fd);
}

static void call(message_fn fn)
{
	if (fn)
		fn(atol(args[1]));
}

static void *serve(void *arg);

/* The main thread ends, the process does not. */
static void leave_main_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, serve, NULL);
	pthread_exit(NULL);
}

static void act(const char *line)
{
	switch (line[0]) {
	case 'c':
		call(message);
		break;
	case 'o':
		call(other);
		break;
	case 'l':
		load(line + 2);
		break;
	case 'z':
		load_stored(line + 2);
		break;
	case 'f':
		if (fork())
			_exit(0); /* the child serves on */
		break;
	case 'e':
		execv("/proc/self/exe", args);
		exit(5);
	case 't':
		leave_main_thread();
	}
}

static void *serve(void *arg)
{
	char line[2048];

	for (;;) {
		puts("ready");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			exit(0);
		line[strcspn(line, "\n")] = 0;
		act(line);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	args = argv;
	if (argc < 2)
		return 2;
#ifdef LINKED
	message = follow_message;
	other = follow_other;
	call(message);
	if (argc > 2)
		return 0;
#endif
	serve(NULL);
	return 0;
}
