/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a hostile jankbpf-name to the broker (user/files/broker.c). Whatever arrives, no
 * descriptor stays open, the next valid request is answered, and an answer gives only what
 * SECURITY.md allows. The oracle uses no code of the broker: it looks at the descriptor or the
 * bytes that came back.
 */
#include "files/broker.c"

#include <dirent.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/socket.h"

#define NOBODY	   65534
#define STEPS	   30 /* a byte; see cost.h */
#define LINKS_MAX  16
#define FILES_MAX  64
#define TEXT_ROOM  (BROKER_TEXT_MAX + 256)
#define TARGETS_FD 9 /* of a file that only the target has */
#define PATIENT_MS 20000

/* Processes: two in the broker's table, and one that is not. */
enum { OF_NOBODY, OF_ROOT, STRANGER, TARGET_CNT };

struct target {
	pid_t pid;
	uid_t uid;
};

struct identity {
	dev_t dev;
	ino_t ino;
};

static struct {
	struct fuzz fuzz;
	const char *broken;
	uint64_t opened, refused, bytes, pieces, ended;
	struct broker *broker;
	struct target targets[TARGET_CNT];
	char dir[64], links[LINKS_MAX][64];
	unsigned link_cnt;
	struct identity mapped[FILES_MAX]; /* what the targets have mapped, and their program */
	unsigned mapped_cnt;
	int offered, fetched, plain;
	int handle; /* O_PATH: the mappings of the stranger */
	struct stat offered_st, fetched_st;
	char page[3 * 4096]; /* memory of each target, too */
	char *to;
} trial;

static struct {
	struct broker_request req;
	char text[TEXT_ROOM];
	size_t len; /* of the text */
} sent;

static struct {
	struct broker_answer head;
	char data[BROKER_DATA_MAX + 64];
	ssize_t n;
	int fds[SOCKET_FDS_MAX];
	unsigned fd_cnt;
} got;

static void breaks(const char *what)
{
	if (!trial.broken)
		diag("op %u, pid %u, at %llx, len %llx, path '%s', root '%s', res %lld",
		     sent.req.op, sent.req.pid, (unsigned long long)sent.req.at,
		     (unsigned long long)sent.req.len, sent.text, sent.text + strlen(sent.text) + 1,
		     (long long)got.head.res);
	trial.broken = trial.broken ?: what;
}

/* --- processes and files */

static void become(uid_t uid)
{
	if (uid != geteuid() &&
	    (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Waits until it has its user, and stops: its memory does not change any more. */
static struct target start_target(uid_t uid)
{
	struct target ret = { .uid = uid, .pid = fork() };
	int status;

	if (!ret.pid) {
		become(uid);
		if (dup2(memfd_create("private", 0), TARGETS_FD) < 0)
			_exit(1);
		for (;;)
			raise(SIGSTOP);
	}
	if (ret.pid < 0 || waitpid(ret.pid, &status, WUNTRACED) != ret.pid || !WIFSTOPPED(status))
		abort();
	return ret;
}

static void plant(const char *name, mode_t mode, uid_t uid)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", trial.dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, path, strlen(path)) < 0 || fchmod(fd, mode) ||
	    (uid != geteuid() && fchown(fd, uid, uid)))
		abort();
	close(fd);
}

static void plant_link(const char *name, const char *to)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", trial.dir, name);
	if (symlink(to, path))
		abort();
}

static void plant_files(void)
{
	char path[128], closed[128];
	struct stat st;

	strcpy(trial.dir, "/tmp/jank-fuzz-broker-XXXXXX");
	if (!mkdtemp(trial.dir) || chmod(trial.dir, 0755))
		abort();
	plant("open", 0644, geteuid());
	plant("secret", 0600, geteuid());
	plant("group", 0640, geteuid());
	plant("written", 0622, geteuid());
	plant("refused", 0644, geteuid());
	plant("own", 0600, trial.targets[OF_NOBODY].uid);
	snprintf(closed, sizeof(closed), "%s/closed", trial.dir);
	if (mkdir(closed, 0700))
		abort();
	plant("closed/inside", 0644, geteuid());
	plant_link("to_secret", "secret");
	plant_link("to_open", "open");
	plant_link("to_shadow", "/etc/shadow");
	plant_link("to_proc", "/proc");
	plant_link("to_loop", "to_loop");
	snprintf(path, sizeof(path), "%s/fifo", trial.dir);
	if (mkfifo(path, 0666))
		abort();
	snprintf(path, sizeof(path), "%s/refused", trial.dir);
	if (stat(path, &st))
		abort();
	broker__refuse(trial.broker, st.st_dev, st.st_ino);
}

static void know_file(const char *path)
{
	struct stat st;

	if (trial.mapped_cnt < FILES_MAX && !stat(path, &st))
		trial.mapped[trial.mapped_cnt++] = (struct identity){ st.st_dev, st.st_ino };
}

/* The targets have our mappings. */
static void know_mappings(void)
{
	DIR *dir = opendir("/proc/self/map_files");
	struct dirent *entry;
	char path[300];

	know_file("/proc/self/exe");
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/map_files/%s", entry->d_name);
		if (entry->d_name[0] != '.')
			know_file(path);
		if (entry->d_name[0] != '.' && trial.link_cnt < LINKS_MAX)
			snprintf(trial.links[trial.link_cnt++], sizeof(trial.links[0]),
				 "map_files/%.40s", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* --- requests */

static uint32_t any_pid(void)
{
	return fuzz__chance(&trial.fuzz, 8)
		       ? (uint32_t)fuzz__number(&trial.fuzz)
		       : (uint32_t)trial.targets[fuzz__below(&trial.fuzz, TARGET_CNT)].pid;
}

/* Room: at least 256 bytes. Returns the length. */
static size_t put_path(char *to)
{
	static const char *const of_process[] = { "maps", "stat",    "status", "exe",  "mem",
						  "cwd",  "environ", "smaps",  "fd/9", "pagemap",
						  "root", "auxv",    "task",   "",     "maps/" };
	static const char *const fixed[] = {
		"/proc/kallsyms",
		"/sys/kernel/notes",
		"/etc/passwd",
		"/etc/shadow",
		"/proc/self/maps",
		"/proc/1/maps",
		"/proc/kcore",
		"/proc/self/fd/0",
		"/proc/thread-self/environ",
		"/dev/null",
		"/dev/mem",
		"/sys/module/kvm/notes/.note.gnu.build-id",
		"/proc/self/root/x",
		"0123456789abcdef",
		"",
	};
	static const char *const names[] = {
		"open",	     "secret",	  "group",   "written",
		"refused",   "own",	  "fifo",    "closed/inside",
		"to_secret", "to_shadow", "to_loop", "to_proc/1/maps",
		"to_open",   "nowhere",	  "",	     "to_proc/self/maps"
	};
	struct fuzz *f = &trial.fuzz;

	switch (fuzz__below(f, 4)) {
	case 0:
		return sprintf(to, "/proc/%u/%s", any_pid(),
			       of_process[fuzz__below(f, sizeof(of_process) / sizeof(char *))]);
	case 1:
		return sprintf(to, "%s", fixed[fuzz__below(f, sizeof(fixed) / sizeof(char *))]);
	case 2:
		if (trial.link_cnt)
			return sprintf(to, "/proc/%u/%s", any_pid(),
				       trial.links[fuzz__below(f, trial.link_cnt)]);
		/* fall through */
	default:
		return sprintf(to, "%s/%s", trial.dir,
			       names[fuzz__below(f, sizeof(names) / sizeof(char *))]);
	}
}

static void put_text(void)
{
	size_t len = put_path(sent.text) + 1;

	if (fuzz__chance(&trial.fuzz, 8))
		len += put_path(sent.text + len) + 1;
	else
		len += sprintf(sent.text + len, "/proc/%u/root", any_pid()) + 1;
	sent.len = len;
}

/* Addresses of pieces, mostly as many as the request says. */
static void put_addresses(void)
{
	struct fuzz *f = &trial.fuzz;

	sent.req.len = fuzz__below(f, MEMORY_PIECES_MAX + 2);
	memset(sent.text, 0, sizeof(sent.text));
	sent.len = fuzz__chance(f, 8) ? fuzz__below(f, 100) : sent.req.len * sizeof(uint64_t);
	for (size_t i = 0; (i + 1) * sizeof(uint64_t) <= sent.len; i++) {
		uint64_t addr = fuzz__chance(f, 3) ? fuzz__number(f) : (uintptr_t)trial.page;

		addr -= fuzz__chance(f, 8) ? 0 : addr % MEMORY_PIECE;
		memcpy(sent.text + i * sizeof(addr), &addr, sizeof(addr));
	}
}

/* Puts a word somewhere, as often as there is room, or once. */
static void insert(void)
{
	static const char *const words[] = { "../",  "/",	    "./", "/..",   "\0",
					     "//",   "/proc/self/", " ",  "/root", "\n",
					     "-",    "0x",	    "+",  "a",	   "%s",
					     "\xff", "exe",	    "0",  "1e9",   "/." };
	struct fuzz *f = &trial.fuzz;
	const char *word = words[fuzz__below(f, sizeof(words) / sizeof(*words))];
	size_t size = *word ? strlen(word) : 1, at = fuzz__below(f, sent.len + 1);
	size_t cnt = fuzz__chance(f, 16) ? (TEXT_ROOM - sent.len) / size : 1;

	if (fuzz__chance(f, 4) && cnt > 1)
		cnt = fuzz__below(f, cnt);
	if (size * cnt > TEXT_ROOM - sent.len)
		return;
	memmove(sent.text + at + size * cnt, sent.text + at, sent.len - at);
	for (size_t i = 0; i < cnt; i++)
		memcpy(sent.text + at + i * size, word, size);
	sent.len += size * cnt;
}

static void damage_text(void)
{
	struct fuzz *f = &trial.fuzz;

	for (size_t i = fuzz__chance(f, 2) ? 0 : 1 + fuzz__below(f, 3); i; i--)
		switch (fuzz__below(f, 4)) {
		case 0:
			if (sent.len)
				fuzz__damage(f, sent.text, sent.len);
			break;
		case 1:
			sent.len = fuzz__below(f, sent.len + 1);
			break;
		default:
			insert();
		}
}

/* Mostly an operation that exists; addresses near our own variables. */
static void make_request(void)
{
	struct fuzz *f = &trial.fuzz;

	memset(sent.text, 0, sizeof(sent.text));
	sent.req = (struct broker_request){
		.op = fuzz__chance(f, 16) ? (uint32_t)fuzz__number(f)
					  : fuzz__below(f, BROKER_OP_CNT + 1),
		.pid = any_pid(),
		.at = fuzz__chance(f, 3)
			      ? fuzz__number(f)
			      : (uintptr_t)trial.page + fuzz__below(f, sizeof(trial.page)),
		.len = fuzz__chance(f, 3) ? fuzz__number(f) : fuzz__below(f, sizeof(trial.page)),
	};
	if (fuzz__chance(f, 4))
		sent.req.at = any_pid();
	put_text();
	damage_text();
	if (sent.req.op == BROKER_PIECES)
		put_addresses();
}

/* Returns its size. */
static size_t send_request(int sock)
{
	struct fuzz *f = &trial.fuzz;
	const int fds[] = { trial.plain, trial.handle, trial.plain, trial.offered };
	char bytes[sizeof(sent.req) + TEXT_ROOM];
	size_t size = sizeof(sent.req) + sent.len;

	memcpy(bytes, &sent.req, sizeof(sent.req));
	memcpy(bytes + sizeof(sent.req), sent.text, sent.len);
	if (fuzz__chance(f, 32))
		size = fuzz__below(f, sizeof(sent.req) + 1);
	fuzz__send(sock, bytes, size, fds + fuzz__below(f, 2),
		   fuzz__chance(f, 2) ? 0 : fuzz__below(f, 4));
	return size;
}

static void receive_answer(int sock)
{
	struct iovec parts[] = { { &got.head, sizeof(got.head) }, { got.data, sizeof(got.data) } };

	memset(&got.head, 0, sizeof(got.head));
	got.n = fuzz__receive(sock, parts, 2, got.fds, &got.fd_cnt);
}

/* --- the oracle */

static const struct target *known_of(uint32_t pid)
{
	for (int i = 0; i < STRANGER; i++)
		if ((uint32_t)trial.targets[i].pid == pid)
			return &trial.targets[i];
	return NULL;
}

static bool is_same(const struct stat *st, const struct stat *other)
{
	return st->st_dev == other->st_dev && st->st_ino == other->st_ino;
}

static bool is_mapped(const struct stat *st)
{
	for (unsigned i = 0; i < trial.mapped_cnt; i++)
		if (trial.mapped[i].dev == st->st_dev && trial.mapped[i].ino == st->st_ino)
			return true;
	return false;
}

static bool is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Files of /proc and /sys that the broker may open by their names; path: where it really is. */
static bool is_own_file(const char *path)
{
	static const char *const of_process[] = { "maps", "stat", "status" };
	const char *end = path + strlen(path);
	char name[64];

	if (!strcmp(path, "/proc/kallsyms") || !strcmp(path, "/sys/kernel/notes"))
		return true;
	if (!strncmp(path, "/sys/module/", 12) && end - path > 24 &&
	    !strcmp(end - 24, "/notes/.note.gnu.build-id" + 1))
		return true;
	for (int i = 0; i < STRANGER * 3; i++) {
		snprintf(name, sizeof(name), "/proc/%d/%s", trial.targets[i / 3].pid,
			 of_process[i % 3]);
		if (!strcmp(path, name))
			return true;
	}
	return false;
}

static bool is_users(const struct stat *st)
{
	const char *root = sent.text + strlen(sent.text) + 1;

	for (int i = 0; i < STRANGER; i++) {
		char name[64];

		snprintf(name, sizeof(name), "/proc/%d/root", trial.targets[i].pid);
		if (!strcmp(root, name))
			return st->st_uid == trial.targets[i].uid;
	}
	return false;
}

/* May the process have this descriptor? */
static const char *judge_file(int fd)
{
	char link[64], path[PATH_MAX] = "", refused[128];
	struct stat st, other;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) || readlink(link, path, sizeof(path) - 1) < 0)
		return "a descriptor of nothing";
	if (sent.req.op == BROKER_OFFERED)
		return is_same(&st, &trial.offered_st) ? NULL : "not the file that is offered";
	if (sent.req.op == BROKER_FETCH_OPEN)
		return is_same(&st, &trial.fetched_st) ? NULL : "not the file that was fetched";
	if (!S_ISREG(st.st_mode))
		return "no regular file";
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		return "a descriptor for writing";
	if (sent.req.op == BROKER_OWN)
		return is_own_file(path) ? NULL : "a file of /proc or /sys that is not listed";
	snprintf(refused, sizeof(refused), "%s/refused", trial.dir);
	if (!stat(refused, &other) && is_same(&st, &other))
		return "a file that is refused";
	if (!is_same(&st, &got.head.st))
		return "the answer describes another file";
	if (sent.req.op == BROKER_LINK)
		return is_mapped(&st) ? NULL : "a file that no process in the table has mapped";
	if (is_of_proc(fd))
		return "a file of procfs by its name";
	if (sent.req.op != BROKER_PATH && is_users(&st))
		return NULL;
	return st.st_mode & S_IROTH ? NULL : "a file that not everybody may read";
}

/* May it have these bytes? They are those of the memory, or of the file that it sent. */
static const char *judge_bytes(size_t size)
{
	static char want[BROKER_DATA_MAX];
	struct iovec local = { want, size }, remote = { (void *)(uintptr_t)sent.req.at, size };

	if (size > BROKER_DATA_MAX || size > sent.req.len)
		return "more bytes than were wanted";
	if (sent.req.op == BROKER_FILE)
		return memcmp(got.data, trial.page, size) ? "bytes of another file" : NULL;
	if (!known_of(sent.req.pid))
		return "memory of a process that is not in the table";
	if (process_vm_readv((pid_t)sent.req.pid, &local, 1, &remote, 1, 0) != (ssize_t)size)
		return "memory that is not there";
	return memcmp(got.data, want, size) ? "other bytes than the memory's" : NULL;
}

/* Pieces of the memory at the addresses that it sent, with zeros for those that were not read. */
static const char *judge_pieces(size_t size)
{
	static char want[MEMORY_PIECE];
	uint64_t addr;

	if (size != sent.req.len * MEMORY_PIECE || sent.req.len > MEMORY_PIECES_MAX)
		return "another number of pieces";
	if (!known_of(sent.req.pid))
		return "memory of a process that is not in the table";
	for (size_t i = 0; i < sent.req.len; i++) {
		struct iovec local = { want, MEMORY_PIECE }, remote = { NULL, MEMORY_PIECE };
		bool read = got.head.read & 1u << i;

		memcpy(&addr, sent.text + i * sizeof(addr), sizeof(addr));
		remote.iov_base = (void *)(uintptr_t)addr;
		memset(want, 0, sizeof(want));
		if (read &&
		    process_vm_readv((pid_t)sent.req.pid, &local, 1, &remote, 1, 0) != MEMORY_PIECE)
			return "a piece that is not there";
		if (memcmp(got.data + i * MEMORY_PIECE, want, MEMORY_PIECE) &&
		    (!read || sent.req.pid != (uint32_t)getpid()))
			return "other bytes than the piece's";
		trial.pieces += read;
	}
	return NULL;
}

static const char *judge_number(void)
{
	int64_t res = got.head.res;

	if (!known_of(sent.req.pid))
		return "a number of a process that is not in the table";
	if (sent.req.op == BROKER_HAS_TID)
		return res == (sent.req.pid == (uint32_t)sent.req.at) ? NULL : "a wrong thread";
	return res && res != sent.req.pid ? "a thread of another process" : NULL;
}

static const char *judge_answer(void)
{
	int64_t res = got.head.res;
	uint32_t op = sent.req.op;
	bool has_file = !res && (op <= BROKER_OFFERED || op == BROKER_FETCH_OPEN);
	bool has_bytes = res > 0 && op >= BROKER_PAGES && op <= BROKER_PIECES;

	if (got.n != (ssize_t)(sizeof(got.head) + (has_bytes ? (size_t)res : 0)))
		return "a size that does not fit the result";
	if (got.fd_cnt != has_file)
		return "a descriptor that does not fit the result";
	if (res < -4095 || (op >= BROKER_OP_CNT && res >= 0))
		return "a result out of range";
	trial.opened += has_file;
	trial.refused += res < 0;
	trial.bytes += has_bytes;
	if (has_file)
		return judge_file(got.fds[0]);
	if (has_bytes)
		return op == BROKER_PIECES ? judge_pieces((size_t)res) : judge_bytes((size_t)res);
	return res >= 0 && op >= BROKER_LIVE_TID && op <= BROKER_HAS_TID ? judge_number() : NULL;
}

/* --- downloads, which the broker passes on */

static void want(void *ctx, const char *build_id, uint32_t pid, uint32_t uid)
{
	const struct target *target = known_of(pid);

	if (!target || target->uid != uid)
		breaks("a download for a process that is not in the table");
	if (strnlen(build_id, BUILD_ID_TEXT_MAX) == BUILD_ID_TEXT_MAX ||
	    build_id[strspn(build_id, "0123456789abcdef")])
		breaks("a build id that is none");
}

static int open_fetched(void *ctx, const char *build_id)
{
	return build_id[0] == '0' ? fcntl(trial.fetched, F_DUPFD_CLOEXEC, 0) : -1;
}

static unsigned fetched_cnt(void *ctx)
{
	return 7;
}

/* --- rounds */

static void close_got(void)
{
	for (unsigned i = 0; i < got.fd_cnt; i++)
		close(got.fds[i]);
	got.fd_cnt = 0;
}

static void ask_for_open_file(int sock)
{
	memset(sent.text, 0, sizeof(sent.text));
	sent.req = (struct broker_request){ .op = BROKER_PATH };
	sent.len = sprintf(sent.text, "%s/open", trial.dir) + 2;
	if (!fuzz__send(sock, &sent, sizeof(sent.req) + sent.len, NULL, 0))
		breaks("the next request cannot be sent");
}

static void check_open_file(int sock)
{
	receive_answer(sock);
	if (got.n < 0 || (got.head.res && got.head.res != -ETIMEDOUT) ||
	    got.fd_cnt != !got.head.res)
		breaks("the next valid request is not answered");
	close_got();
	apart__start(); /* it may have been given up */
}

/*
 * The helper process of apart.c got no CPU in time, so it was given up and these processes are not
 * read again.
 */
static void start_again(void)
{
	apart__start();
	for (int i = 0; i < STRANGER; i++) {
		struct target *target = &trial.targets[i];

		broker__forbid(trial.broker, target->pid);
		kill(target->pid, SIGKILL);
		waitpid(target->pid, NULL, 0);
		*target = start_target(target->uid);
		broker__allow(trial.broker, target->pid);
	}
}

/* Returns the bytes of the round. */
static size_t one_request(void)
{
	unsigned before = fuzz__descriptors();
	const char *broken = NULL;
	size_t size;
	int ends[2];
	bool goes_on, late;

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	make_request();
	size = send_request(ends[0]);
	goes_on = serve_one(trial.broker, ends[1], trial.to);
	receive_answer(ends[0]);
	trial.ended += !goes_on;
	if (goes_on != (got.n >= 0))
		broken = "an answer, and the end";
	else if (got.n >= 0)
		broken = judge_answer();
	size += got.n > 0 ? (size_t)got.n : 0;
	late = got.n >= 0 && got.head.res == -ETIMEDOUT;
	close_got();
	if (broken)
		breaks(broken);
	if (goes_on && fuzz__chance(&trial.fuzz, 8)) {
		ask_for_open_file(ends[0]);
		serve_one(trial.broker, ends[1], trial.to);
		check_open_file(ends[0]);
	}
	close(ends[0]);
	close(ends[1]);
	if (late)
		start_again();
	if (fuzz__descriptors() != before)
		breaks("a descriptor stays open");
	return size;
}

static void wait_for(int sock, short events)
{
	struct pollfd fd = { .fd = sock, .events = events };

	if (poll(&fd, 1, PATIENT_MS) != 1)
		breaks("the thread does not answer");
}

/* Through the thread: requests that nobody waits for, the end, and another process. */
static size_t many_requests(void)
{
	unsigned before = fuzz__descriptors();
	size_t size = 0;
	int ends[2];
	char byte;

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	broker__serve(trial.broker, ends[1]);
	for (size_t i = fuzz__below(&trial.fuzz, 8); i; i--) {
		make_request();
		size += send_request(ends[0]);
	}
	if (size && fuzz__chance(&trial.fuzz, 2))
		wait_for(ends[0], POLLIN | POLLHUP);
	close(ends[0]);
	fuzz__socketpair(SOCK_SEQPACKET, ends);
	broker__serve(trial.broker, ends[1]);
	ask_for_open_file(ends[0]);
	wait_for(ends[0], POLLIN);
	check_open_file(ends[0]);
	shutdown(ends[0], SHUT_WR);
	wait_for(ends[0], POLLIN | POLLHUP);
	if (recv(ends[0], &byte, 1, MSG_DONTWAIT))
		breaks("bytes after the end");
	close(ends[0]);
	if (fuzz__descriptors() != before)
		breaks("the thread leaves a descriptor open");
	return size + 16 * sizeof(got.head);
}

/* The thread has begun when it has closed a socket: the sanitizer opens files meanwhile. */
static void wait_for_thread(void)
{
	int ends[2];

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	shutdown(ends[0], SHUT_WR);
	broker__serve(trial.broker, ends[1]);
	wait_for(ends[0], POLLIN | POLLHUP);
	close(ends[0]);
}

static int memory_file(const char *name, struct stat *ret)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || write(fd, trial.page, sizeof(trial.page)) != sizeof(trial.page) ||
	    fstat(fd, ret))
		abort();
	return fd;
}

static void start(void)
{
	const struct broker_fetch fetch = { want, open_fetched, fetched_cnt, NULL };
	struct stat st;
	char path[64];

	trial.to = malloc(BROKER_DATA_MAX);
	memset(trial.page, 'p', sizeof(trial.page));
	trial.targets[OF_NOBODY] = start_target(geteuid() ? geteuid() : NOBODY);
	trial.targets[OF_ROOT] = start_target(geteuid());
	trial.targets[STRANGER] = start_target(geteuid());
	know_mappings();
	trial.offered = memory_file("offered", &trial.offered_st);
	trial.fetched = memory_file("fetched", &trial.fetched_st);
	trial.plain = memory_file("plain", &st);
	snprintf(path, sizeof(path), "/proc/%d/maps", trial.targets[STRANGER].pid);
	trial.handle = open(path, O_PATH | O_CLOEXEC);
	if (!trial.to || apart__start() || broker__new(&fetch, &trial.broker))
		abort();
	for (int i = 0; i < STRANGER; i++)
		broker__allow(trial.broker, trial.targets[i].pid);
	broker__offer(trial.broker, trial.offered);
	plant_files();
	wait_for_thread();
}

static void end(void)
{
	char command[128];

	broker__free(trial.broker);
	apart__stop();
	for (int i = 0; i < TARGET_CNT; i++) {
		kill(trial.targets[i].pid, SIGKILL);
		waitpid(trial.targets[i].pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", trial.dir);
	if (system(command))
		diag("%s stays", trial.dir);
	free(trial.to);
}

int main(void)
{
	start();
	trial.fuzz = fuzz__begin(STEPS);
	while (fuzz__goes_on(&trial.fuzz) && !trial.broken)
		cost__end(&trial.fuzz.cost,
			  fuzz__chance(&trial.fuzz, 64) ? many_requests() : one_request());
	ok(!trial.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)trial.fuzz.round, trial.broken ?: "yes");
	ok(trial.opened && trial.refused && trial.bytes && trial.pieces && trial.ended,
	   "%llu files opened, %llu refusals, %llu readings, %llu ends",
	   (unsigned long long)trial.opened, (unsigned long long)trial.refused,
	   (unsigned long long)trial.bytes, (unsigned long long)trial.ended);
	cost__ok(&trial.fuzz.cost);
	fuzz__report(&trial.fuzz);
	end();
	return tap__done();
}
