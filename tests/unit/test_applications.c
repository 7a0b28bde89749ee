/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The APK of an Android app, which this process is by its command line: found among what it maps,
 * within a limit of time.
 */
#include "enrich/applications.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "tests/unit/zip_writer.h"

#define APP	   "org.example.jank"
#define APK	   "tests/apk/aapt.apk"
#define HEAD_SZ	   (30 + sizeof("AndroidManifest.xml") - 1)
#define PACKED_SZ  (1u << 20)
#define COSTLY_CNT 15

static void *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *ret = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (ret == MAP_FAILED)
		abort();
	close(fd);
	return ret;
}

static Jankbpf__Identity *app(void)
{
	static Jankbpf__Identity ret;

	ret = (Jankbpf__Identity){ .base = PROTOBUF_C_MESSAGE_INIT(&jankbpf__identity__descriptor),
				   .has_pid = true,
				   .pid = (uint32_t)getpid(),
				   .exe = "/system/bin/app_process64" };
	return &ret;
}

/* NULL: not found. */
static const char *find(struct applications *apps)
{
	Jankbpf__Identity *process = app();

	is_int(applications__read(apps, process), 0, "an app is read");
	identity__set_application(process, NULL);
	return applications__of(apps, process->pid)->package;
}

/* --- the file that is mapped, whatever has its name now */

static void test_other_file(void)
{
	const char *path = scratch__write_text("any.apk", "no archive");
	struct applications *apps = applications__new();
	void *at = map_file(path);
	char apk[PATH_MAX];

	if (!realpath(APK, apk) || unlink(path) || symlink(apk, path))
		abort();
	ok(!find(apps), "a link in place of a mapped file is not followed");
	munmap(at, 4096);
	if (unlink(path) || system("cp " APK " \"$D/any.apk\""))
		abort();
	at = map_file(path);
	unlink(path);
	if (getuid())
		skip(2, "only root sees a mapped file without a name");
	else
		is_str(find(apps), APP, "a mapped APK is read that has no name any more");
	munmap(at, 4096);
	applications__free(apps);
}

/* --- archives that take long: empty blocks of deflate, each with a code of its own */

static void write_costly(const char *name, const uint8_t *packed)
{
	static struct zip_writer zip;
	uint32_t size = PACKED_SZ, directory = HEAD_SZ + PACKED_SZ;
	FILE *file = fopen(scratch__path(name), "w");

	memset(&zip, 0, sizeof(zip));
	zip__add_packed(&zip, "AndroidManifest.xml", packed, 0, 1000, 8, 1);
	memcpy(zip.directory + 20, &size, sizeof(size));
	zip__finish(&zip, "");
	memcpy(zip.bytes + zip.len - 6, &directory, sizeof(directory));
	if (!file || fwrite(zip.bytes, 1, HEAD_SZ, file) != HEAD_SZ ||
	    fwrite(packed, 1, PACKED_SZ, file) != PACKED_SZ ||
	    fwrite(zip.bytes + HEAD_SZ, 1, zip.len - HEAD_SZ, file) != zip.len - HEAD_SZ ||
	    fclose(file))
		abort();
}

/* The app maps its own APK last. */
static void test_costly(void)
{
	static const uint8_t blocks[] = { /* four, of 90 bits each */
					  0x04, 0xc0, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x90,
					  0xff, 0x6b, 0x10, 0x00, 0x07, 0x02, 0x00, 0x00, 0x00,
					  0x00, 0x40, 0xfe, 0xaf, 0x41, 0x00, 0x1c, 0x08, 0x00,
					  0x00, 0x00, 0x00, 0x00, 0xf9, 0xbf, 0x06, 0x01, 0x70,
					  0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe4, 0xff, 0x1a
	};
	static uint8_t packed[PACKED_SZ];
	struct applications *apps = applications__new();
	unsigned looks = 1;
	char name[16];

	for (size_t i = 0; i < PACKED_SZ; i++)
		packed[i] = blocks[i % sizeof(blocks)];
	map_file(APK); /* the first has the highest address: it is the last line of maps */
	for (int i = 0; i < COSTLY_CNT; i++) {
		snprintf(name, sizeof(name), "%d.apk", i);
		write_costly(name, packed);
		map_file(scratch__path(name));
	}
	ok(!find(apps), "a look that takes too long does not reach the app's APK");
	while (!find(apps) && looks < 100)
		looks++;
	is_str(find(apps), APP, "later ones do: what was read is known");
	diag("%u looks", looks);
	applications__free(apps);
}

static const Jankbpf__Identity *read_and_end(struct applications *apps, uint32_t pid)
{
	Jankbpf__Identity process = { .base = PROTOBUF_C_MESSAGE_INIT(
					      &jankbpf__identity__descriptor),
				      .has_pid = true,
				      .pid = pid,
				      .name = "ended" };

	applications__read(apps, &process);
	identity__set_application(&process, NULL);
	applications__on_exit(apps, pid);
	return applications__of(apps, pid);
}

static void test_ended(void)
{
	struct applications *apps = applications__new();
	const Jankbpf__Identity *app = read_and_end(apps, getpid());

	ok(app && app->build_id, "an ended process stays known for its last interval");
	for (uint32_t i = 0; i < 1024; i++)
		read_and_end(apps, 0x40000000 + i);
	ok(!applications__of(apps, getpid()), "until many others have ended");
	app = read_and_end(apps, getpid());
	ok(app && app->build_id, "a pid may be used again");
	applications__free(apps);
}

/* Its facts may be read again after its end: what is known of its program still holds. */
static void test_read_again(void)
{
	struct applications *apps = applications__new();
	pid_t pid = fork();
	Jankbpf__Identity process = { .base = PROTOBUF_C_MESSAGE_INIT(
					      &jankbpf__identity__descriptor),
				      .has_pid = true,
				      .pid = pid,
				      .name = "again",
				      .exe = "/proc/self/exe" };

	if (!pid) {
		pause();
		_exit(0);
	}
	applications__read(apps, &process);
	ok(process.build_id != NULL, "the build of a program is read");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(applications__read(apps, &process), 0, "its facts are read after its end");
	ok(process.build_id && applications__of(apps, pid)->build_id, "its build is known");
	process.exe = "/another";
	applications__read(apps, &process);
	ok(!process.build_id, "another program's is not");
	identity__set_application(&process, NULL);
	applications__free(apps);
}

int main(int argc, char **argv)
{
	if (strlen(argv[0]) < strlen(APP))
		skip_all("the program's path has no room for the app's name");
	memset(argv[0], 0, strlen(argv[0]));
	strcpy(argv[0], APP);
	scratch__init();
	test_other_file();
	test_costly();
	test_ended();
	test_read_again();
	return tap__done();
}
