/* SPDX-License-Identifier: GPL-2.0 */
/* Which programs are 32-bit: by made-up ELF headers, scripts, PATH, and /proc. */
#include "procfs/procinfo.h"

#include <elf.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

#if defined(__aarch64__)
#define OURS  EM_ARM
#define OTHER EM_386
#else
#define OURS  EM_386
#define OTHER EM_ARM
#endif

static const char *write_file(const char *name, const void *data, size_t len)
{
	const char *path = scratch__write(name, data, len);

	if (chmod(path, 0755))
		diag("cannot change %s", path);
	return path;
}

static const char *write_elf(const char *name, int class, int data, int machine)
{
	Elf32_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', class, data, 1 },
			    .e_type = ET_DYN,
			    .e_machine = machine };

	return write_file(name, &head, sizeof(head));
}

static const char *write_script(const char *name, const char *before, const char *interpreter,
				const char *after)
{
	char text[300];

	snprintf(text, sizeof(text), "%s%s%s", before, interpreter, after);
	return write_file(name, text, strlen(text));
}

static void test_elf(void)
{
	char path[64];

	ok(compat32__file(write_elf("p32", ELFCLASS32, ELFDATA2LSB, OURS)), "a 32-bit program");
	ok(!compat32__file(write_elf("p64", ELFCLASS64, ELFDATA2LSB, OURS)), "a 64-bit one");
	ok(!compat32__file(write_elf("other", ELFCLASS32, ELFDATA2LSB, OTHER)),
	   "a program of another machine, which an emulator runs");
	ok(!compat32__file(write_elf("x32", ELFCLASS32, ELFDATA2LSB, EM_X86_64)),
	   "32-bit pointers, 64-bit code");
	ok(!compat32__file(write_elf("big", ELFCLASS32, ELFDATA2MSB, OURS)),
	   "the other byte order");
	ok(!compat32__file(write_file("cut", "\177ELF\1\1\1", 7)), "a header cut short");
	ok(!compat32__file(write_file("empty", "", 0)), "an empty file");
	ok(!compat32__file(scratch_dir), "a directory");
	ok(!compat32__file(scratch__path("none")), "no file");
	snprintf(path, sizeof(path), "%s", scratch__path("fifo"));
	mkfifo(path, 0755);
	ok(!compat32__file(path), "a pipe, which is not read");
}

static void test_script(void)
{
	const char *p32 = scratch__path("p32");

	ok(compat32__file(write_script("plain", "#!", p32, "\nexit\n")),
	   "a script by its interpreter");
	ok(compat32__file(write_script("args", "#! \t", p32, " -e\n")),
	   "… after blanks, with an option");
	ok(compat32__file(write_script("short", "#!", p32, "")), "… without an end of line");
	ok(!compat32__file(write_script("sixtyfour", "#!", scratch__path("p64"), "\n")),
	   "… with a 64-bit interpreter");
	ok(compat32__file(write_script("twice", "#!", scratch__path("plain"), "\n")),
	   "a script whose interpreter is a script");
	ok(!compat32__file(write_script("self", "#!", scratch__path("self"), "\n")),
	   "a script that is its own interpreter");
	ok(!compat32__file(write_script("nobody", "#!", "", "\n")), "a script without one");
	ok(!compat32__file(write_script("text", "", p32, "\n")), "text");
}

static void test_path(void)
{
	char path[1024], sub[64];

	snprintf(sub, sizeof(sub), "%s", scratch__path("sub"));
	mkdir(sub, 0755);
	mkdir(scratch__path("sub/p32"), 0755);
	write_elf("sub/late", ELFCLASS32, ELFDATA2LSB, OURS);
	write_elf("late", ELFCLASS64, ELFDATA2LSB, OURS);
	write_elf("sub/locked", ELFCLASS64, ELFDATA2LSB, OURS);
	chmod(scratch__path("sub/locked"), 0644);
	write_elf("locked", ELFCLASS32, ELFDATA2LSB, OURS);
	snprintf(path, sizeof(path), "/nonexistent:%s:%s", sub, scratch_dir);
	setenv("PATH", path, 1);
	ok(compat32__command("p32"), "a directory of that name is skipped");
	ok(compat32__command("late"), "the first program of that name is used");
	ok(compat32__command("locked"), "a file without execute permission is skipped");
	ok(!compat32__command("p64"), "a 64-bit program");
	ok(!compat32__command("missing"), "nowhere");
	ok(!compat32__command(scratch__path("p64")) && compat32__command(scratch__path("p32")),
	   "by its path");
	if (chdir(scratch_dir))
		diag("no access to %s", scratch_dir);
	setenv("PATH", "/nonexistent:", 1);
	ok(compat32__command("p32"), "an empty part is the current directory");
	setenv("PATH", "/nonexistent", 1);
	ok(!compat32__command("p32"), "which is not searched otherwise");
	ok(compat32__command("./p32"), "except with a slash");
	unsetenv("PATH");
	ok(!compat32__command("p32"), "without PATH: the system's default");
}

static void test_process(void)
{
	pid_t pid;

	ok(!compat32__process(getpid()), "ourselves");
	ok(!compat32__process(2), "a kernel thread, or a process with its number");
	pid = child__zombie();
	ok(!compat32__process(pid), "an ended process");
	child__end(pid);
	ok(!compat32__process(pid), "a process that no longer exists");
}

/* In a child process: mounts an overlay in its own mount namespace. */
static void mount_elsewhere(void *arg)
{
	if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("overlay", scratch__path("seen"), "overlay", MS_RDONLY, arg))
		_exit(1);
}

/* On a file system that we must not wait for, a separate process reads the files. */
static void test_elsewhere(void)
{
	char layers[300], p32[300], p64[300], byte;
	pid_t pid;
	int fd;

	mkdir(scratch__path("seen"), 0755);
	mkdir(scratch__path("none"), 0755);
	mkdir(scratch__path("low"), 0755);
	write_elf("low/p32", ELFCLASS32, ELFDATA2LSB, OURS);
	write_elf("low/p64", ELFCLASS64, ELFDATA2LSB, OURS);
	snprintf(layers, sizeof(layers), "lowerdir=%s/none:%s/low", scratch_dir, scratch_dir);
	pid = child__start(mount_elsewhere, layers);
	snprintf(p32, sizeof(p32), "/proc/%d/root%s", pid, scratch__path("seen/p32"));
	snprintf(p64, sizeof(p64), "/proc/%d/root%s", pid, scratch__path("seen/p64"));
	if (access(p32, F_OK)) {
		skip(3, "no overlay can be mounted here");
		child__end(pid);
		return;
	}
	fd = openfile__path(p32, NULL);
	ok(fd >= 0 && pread(fd, &byte, 1, 0) < 0, "a file that this process does not open");
	close(fd);
	ok(compat32__file(p32), "is recognised as a 32-bit program");
	ok(!compat32__file(p64), "or a 64-bit one");
	child__end(pid);
}

/* --- a program that must not be opened: the kernel knows what runs */

#if defined(__x86_64__)
/* A program of i386 that says "x" and calls pause(2). */
static void write_pause32(const char *name)
{
	static const uint8_t code[] = { 0x6a, 0x78,		  /* push $'x' */
					0xbb, 1,    0,	  0,   0, /* mov $1,%ebx */
					0x89, 0xe1,		  /* mov %esp,%ecx */
					0xba, 1,    0,	  0,   0, /* mov $1,%edx */
					0xb8, 4,    0,	  0,   0, /* mov $write,%eax */
					0xcd, 0x80,		  /* int $0x80 */
					0xb8, 29,   0,	  0,   0, /* mov $pause,%eax */
					0xcd, 0x80, 0xeb, 0xf7 }; /* int $0x80; jmp */
	const uint32_t base = 0x10000;
	struct {
		Elf32_Ehdr head;
		Elf32_Phdr load;
		uint8_t code[sizeof(code)];
	} file = { .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1 },
			     .e_type = ET_EXEC,
			     .e_machine = EM_386,
			     .e_version = 1,
			     .e_phoff = sizeof(file.head),
			     .e_ehsize = sizeof(file.head),
			     .e_phentsize = sizeof(file.load),
			     .e_phnum = 1 },
		   .load = { .p_type = PT_LOAD,
			     .p_vaddr = base,
			     .p_filesz = sizeof(file),
			     .p_memsz = sizeof(file),
			     .p_flags = PF_R | PF_X,
			     .p_align = 4096 } };

	file.head.e_entry = base + offsetof(__typeof__(file), code);
	memcpy(file.code, code, sizeof(code));
	write_file(name, &file, sizeof(file));
}

/* Mounts as above and becomes the program; says nothing if that fails. */
static pid_t run_elsewhere(char *layers, const char *program)
{
	const char *argv[] = { scratch__path(program), "x", NULL };
	bool wrote;
	pid_t pid = child__run_after(mount_elsewhere, layers, argv, &wrote);

	if (wrote)
		return pid;
	child__end(pid);
	return -1;
}

static unsigned children(void)
{
	struct strbuf text = STRBUF_INIT;
	char path[64];
	unsigned cnt = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file__read(path, 4096, &text);
	for (size_t i = 0; i < text.len; i++)
		cnt += text.data[i] == ' ';
	strbuf__free(&text);
	return cnt;
}

static void test_process_elsewhere(void)
{
	char layers[300];
	pid_t p32, p64;

	mkdir(scratch__path("seen"), 0755);
	mkdir(scratch__path("none"), 0755);
	mkdir(scratch__path("low"), 0755);
	write_pause32("low/pause32");
	if (system("cp /usr/bin/yes \"$D/low/yes\""))
		diag("no program to copy");
	snprintf(layers, sizeof(layers), "lowerdir=%s/none:%s/low", scratch_dir, scratch_dir);
	p32 = run_elsewhere(layers, "seen/pause32");
	p64 = run_elsewhere(layers, "seen/yes");
	if (p32 < 0 || p64 < 0) {
		skip(3, "no overlay can be mounted here, or no program of i386 runs");
	} else {
		ok(compat32__process(p32), "a 32-bit process, whose program is not opened");
		ok(!compat32__process(p64), "a 64-bit one");
		is_uint(children(), 2,
			"no helper process is asked: the intake thread must not wait");
	}
	if (p32 > 0)
		child__end(p32);
	if (p64 > 0)
		child__end(p64);
}
#else
static void test_process_elsewhere(void)
{
	skip(3, "the program is one of i386");
}
#endif

int main(void)
{
	scratch__init();
	test_process_elsewhere();
	test_process();
	test_elf();
	test_script();
	test_path();
	test_elsewhere();
	return tap__done();
}
