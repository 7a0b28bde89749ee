# SPDX-License-Identifier: GPL-2.0
"""A program with a handler that loads a library, calls thousands of its functions through
unresolved linker stubs, and unloads it. Most samples are in ld.so, below the library's calls."""
import os
import subprocess

FUNCTIONS = 4000
ROUNDS = 40
CHAIN = ["call_all", "handle_event", "main"]
MAIN = f"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

__attribute__((noinline)) long handle_event(const char *path)
{{
	void *library = dlopen(path, RTLD_LAZY);
	long (*run)(long) = library ? (long (*)(long))dlsym(library, "call_all") : NULL;
	long ret = run ? run(1) : (fprintf(stderr, "%s\\n", dlerror()), exit(1), 0);

	dlclose(library);
	return ret;
}}

int main(int argc, char **argv)
{{
	struct itimerspec often = {{ {{ 0, 50000000 }}, {{ 1, 0 }} }};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), loop = epoll_create1(0);
	struct epoll_event event = {{ EPOLLIN }};
	unsigned long expired;
	long sum = 0;

	timerfd_settime(timer, 0, &often, NULL);
	epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
	for (int i = 0; i < {ROUNDS}; i++) {{
		epoll_wait(loop, &event, 1, -1);
		if (read(timer, &expired, sizeof(expired)) > 0)
			sum += handle_event(argv[1]);
	}}
	return sum == 0;
}}
"""


def library_source():
    functions = "".join(f"long called_{i}(long n) {{ return n + {i}; }}\n" for i in range(FUNCTIONS))
    calls = "".join(f"\tn = called_{i}(n);\n" for i in range(FUNCTIONS))
    return f"{functions}long call_all(long n)\n{{\n{calls}\treturn n;\n}}\n"


def build(folder, compiler):
    """(program, library), without frame pointers. OSError or CalledProcessError: no such
    compiler."""
    made = []
    for name, source, flags in ("lazy", MAIN, []), ("liblazy.so", library_source(), ["-shared", "-fPIC"]):
        path = os.path.join(folder, name)
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run([compiler, "-O1", "-fomit-frame-pointer", "-Wl,-z,lazy", path + ".c", "-o", path, *flags],
                       check=True)
        made.append(path)
    return made
