/* SPDX-License-Identifier: GPL-2.0 */
/* The filters of -a: users, name patterns as the probes match them, cgroups. */
#include "options/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procfs/cgroup.h"
#include "tests/tap.h"
#include "tests/unit/child.h"

static void test_globs(void)
{
	static const char *const globs[] = { "redis",
					     "redis*",
					     "*server",
					     "r?d*r",
					     "*",
					     "?",
					     "a*b*c",
					     "*a*a*",
					     "[x]",
					     "**a",
					     "*************************a",
					     "node\\" };
	static const char *const names[] = {
		"redis",	  "redis-server", "server", "rXdr", "",	 "a",	   "abc",
		"aXbXbXc",	  "aa",		  "ba",	    "[x]",  "x", "node\\", "redis-serve",
		"aaaaaaaaaaaaaaa"
	};
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
		struct jank_glob glob;
		char quoted[64], *to = quoted;

		for (const char *c = globs[i]; *c;
		     c++) { /* our patterns have no classes and no escapes */
			if (*c == '[' || *c == '\\')
				*to++ = '\\';
			*to++ = *c;
		}
		*to = '\0';
		if (glob__compile(globs[i], &glob))
			wrong++;
		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			if (glob__matches(&glob, names[j]) != !fnmatch(quoted, names[j], 0)) {
				diag("'%s' and '%s'", globs[i], names[j]);
				wrong++;
			}
	}
	is_uint(wrong, 0, "patterns match what fnmatch matches");
}

static void test_glob_limits(void)
{
	struct filter filter;
	struct jank_glob glob;
	struct err err = {};

	is_int(glob__compile("systemd-journald", &glob), 0, "a name of 16 bytes");
	ok(glob__matches(&glob, "systemd-journal"), "is cut as the kernel cuts it");
	is_int(glob__compile("\xff\xc3*", &glob), 0, "any bytes");
	ok(glob__matches(&glob, "\xff\xc3z"), "match themselves");
	is_int(glob__compile("sixteen-bytes-ab*", &glob), -EINVAL,
	       "more characters than a name can have");
	is_int(glob__compile("", &glob), -EINVAL, "nothing");
	filter = (struct filter){};
	is_int(filter__add_comm(&filter, "a\tsixteen-bytes-ab*", &err), -EINVAL, "refused");
	is_int(err.exit, JANK_EXIT_USAGE, "exit status: usage");
	has_str(err.msg, "--comm 'a?sixteen", "quoted, without control bytes");
	for (int i = 0; i < FILTER_MAX; i++)
		filter__add_comm(&filter, "x", &err);
	is_int(filter__add_comm(&filter, "x", &err), -E2BIG, "one too many");
	has_str(err.msg, "at most 8", "with the limit");
}

static void test_uids(void)
{
	struct filter filter;
	struct err err = {};

	filter = (struct filter){};
	is_int(filter__add_uid(&filter, "65534", &err), 0, "a number");
	is_int(filter__add_uid(&filter, "root", &err), 0, "a name");
	is_uint(filter.uid_cnt, 2, "two users");
	is_uint(filter.uids[0], 65534, "the number");
	is_uint(filter.uids[1], 0, "the name's");
	is_int(filter__add_uid(&filter, "4294967295", &err), -ERANGE, "no user has number -1");
	is_int(err.exit, JANK_EXIT_USAGE, "exit status: usage");
	is_int(filter__add_uid(&filter, "roo", &err), -ENOENT, "the beginning of a name");
	is_int(err.exit, JANK_EXIT_FAILED, "an unknown user is not wrong usage");
	has_str(err.msg, "'roo'", "quoted");
	has_str(err.msg, "id -u", "with the remedy");
	is_int(filter__add_uid(&filter, "root:x", &err), -ENOENT,
	       "what would match the beginning of a line");
	is_int(filter__add_uid(&filter, "", &err), -EINVAL, "nothing");
	is_int(filter__add_uid(&filter, "a\nroot", &err), -EINVAL, "two lines");
}

static void test_mounts(void)
{
	struct strbuf point = STRBUF_INIT;

	is_int(cgroup__parse_mounts("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
				    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
				    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
				    &point),
	       0, "a hybrid setup");
	is_str(strbuf__str(&point), "/sys/fs/cgroup/unified", "has v2 elsewhere");
	strbuf__reset(&point);
	is_int(cgroup__parse_mounts("none /my\\040cgroups cgroup2 rw 0 0\n", &point), 0,
	       "a blank in the path");
	is_str(strbuf__str(&point), "/my cgroups", "is decoded");
	is_int(cgroup__parse_mounts("cgroup /sys/fs/cgroup cgroup rw 0 0\nx\n\n", &point), -ENOTSUP,
	       "only version 1");
	is_int(cgroup__parse_mounts("", &point), -ENOTSUP, "nothing");
	strbuf__free(&point);
}

/* The cgroup is removed, and made again. */
static void test_again(const char *dir, const char *name)
{
	struct filter filter = { .waits = true }, copy;
	struct strbuf missing = STRBUF_INIT;
	struct err err = {};

	is_int(filter__add_cgroup(&filter, name, &err), 0, "a cgroup that exists");
	is_int(filter__add_cgroup(&filter, "no-such.service", &err), 0,
	       "an agent's need not exist");
	is_uint(filter.cgroup_cnt, 1, "it has no descriptor");
	copy = filter;
	is_int(filter__own_cgroups(&copy), 0, "a copy with descriptors of its own");
	filter__close(&filter);
	ok(!filter__refresh(&copy), "nothing has changed");
	rmdir(dir);
	ok(filter__refresh(&copy), "the cgroup is removed");
	is_uint(copy.cgroup_cnt, 0, "it is none now");
	filter__add_missing(&copy, &missing);
	has_str(strbuf__str(&missing), "jank-test-filter.service, no-such.service", "both miss");
	ok(!filter__refresh(&copy), "nothing more has changed");
	mkdir(dir, 0755);
	ok(filter__refresh(&copy), "it is made again");
	ok(copy.cgroup_cnt == 1 && copy.names[0].cnt == 1, "and found");
	rmdir(dir);
	mkdir(dir, 0755);
	ok(filter__refresh(&copy) && copy.names[0].changed && copy.cgroup_cnt == 1,
	   "so is one that was made again meanwhile");
	filter__close(&copy);
	strbuf__free(&missing);
}

/* Our own directory in the real hierarchy, found by each of its names. */
static void test_cgroups(void)
{
	static const char name[] = "jank-test-filter.service";
	char mount[64] = "", procs[128], parent[128], dir[256];
	struct filter filter;
	struct err err = {};

	filter = (struct filter){};
	for (const char *const *at =
		     (const char *const[]){ "/sys/fs/cgroup/unified", "/sys/fs/cgroup", NULL };
	     *at && !*mount; at++) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", *at);
		if (!access(procs, W_OK))
			snprintf(mount, sizeof(mount), "%s", *at);
	}
	snprintf(parent, sizeof(parent), "%s/jank-test-%d", mount, getpid());
	snprintf(dir, sizeof(dir), "%s/%s", parent, name);
	if (!*mount || mkdir(parent, 0755) || mkdir(dir, 0755)) {
		skip(18, "no writable cgroup v2");
		return;
	}
	is_int(filter__add_cgroup(&filter, dir, &err), 0, "by its path");
	is_int(filter__add_cgroup(&filter, dir + strlen(mount), &err), 0, "below the mount point");
	is_int(filter__add_cgroup(&filter, name, &err), 0, "by its unit's name");
	is_uint(filter.cgroup_cnt, 3, "three descriptors");
	is_int(filter__add_cgroup(&filter, "no-such.service", &err), -ENOENT, "no such unit");
	ok(!cgroup__holds(filter.cgroup_fds[0], getpid()), "we are not in it");
	ok(cgroup__holds(open(mount, O_RDONLY | O_CLOEXEC), getpid()),
	   "everything is below the root");
	filter__close(&filter);
	test_again(dir, name);
	rmdir(dir);
	rmdir(parent);
}

static void test_not_cgroups(void)
{
	struct filter filter;
	struct err err = {};

	filter = (struct filter){};
	is_int(filter__add_cgroup(&filter, "", &err), -EINVAL, "an empty path");
	is_int(err.exit, JANK_EXIT_USAGE, "is wrong usage");
	ok(filter__add_cgroup(&filter, "/no/such/group", &err) < 0, "no such cgroup");
	has_str(err.msg, "/no/such/group", "quoted");
	is_uint(filter.cgroup_cnt, 0, "no descriptor was opened");
}

static void take_name(void *name)
{
	prctl(PR_SET_NAME, name);
}

/* The filter in user space, for processes that no probe has seen: a child of ours. */
static void test_admits(void)
{
	struct filter filter;
	struct err err = {};
	char uid[16], other[16];
	pid_t child = child__start(take_name, (void *)"jank-child");

	snprintf(uid, sizeof(uid), "%u", getuid());
	snprintf(other, sizeof(other), "%u", getuid() + 1);
	filter = (struct filter){};
	ok(!filter__admits(&filter, child), "without -a no process");
	filter.all = true;
	ok(filter__admits(&filter, child), "with -a every process");
	ok(!filter__admits(&filter, getpid()), "except ourselves");
	filter__add_uid(&filter, other, &err);
	ok(!filter__admits(&filter, child), "not another user's");
	filter__add_uid(&filter, uid, &err);
	ok(filter__admits(&filter, child), "but this one's");
	filter__add_comm(&filter, "other*", &err);
	ok(!filter__admits(&filter, child), "not one of another name");
	filter__add_comm(&filter, "jank-c*", &err);
	ok(filter__admits(&filter, child), "but of this one");
	child__end(child);
	ok(!filter__admits(&filter, child), "not an ended one");
}

int main(void)
{
	test_admits();
	test_globs();
	test_glob_limits();
	test_uids();
	test_mounts();
	test_cgroups();
	test_not_cgroups();
	return tap__done();
}
