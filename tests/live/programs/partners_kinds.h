/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kinds of partners, for partners.c: what the partner takes before its work, and gives back after
 * it; how the handler waits.
 */

static void lock(void)
{
	pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static void wait_mutex(void)
{
	lock();
	unlock();
}

static void signal_condition(void)
{
	lock();
	done = 1;
	pthread_cond_signal(&condition);
	unlock();
}

static void wait_condition(void)
{
	lock();
	while (!done)
		pthread_cond_wait(&condition, &mutex);
	done = 0;
	unlock();
}

static void reply(void)
{
	tell(answer[1]);
}

/* The handler's process keeps only its own end. */
static void leave_answer(void)
{
	if (answer[1] >= 0)
		close(answer[1]);
	answer[1] = -1;
}

static void wait_answer(void)
{
	leave_answer();
	hear(answer[0]);
}

static void wait_polled(void)
{
	struct pollfd polled = { .fd = answer[0], .events = POLLIN };

	leave_answer();
	poll(&polled, 1, -1);
	hear(answer[0]);
}

static void make_pipe(void)
{
	if (pipe(answer))
		exit(1);
}

static void be_other(void)
{
	if (fork())
		return;
	prctl(PR_SET_NAME, "other");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Another process inherits the end that writes. */
static void make_shared_pipe(void)
{
	make_pipe();
	be_other();
}

static void make_unix(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, answer))
		exit(1);
}

static void make_tcp(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(sa);

	answer[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&sa, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&sa, &len) || connect(answer[1], (void *)&sa, len))
		exit(1);
	answer[0] = accept(listener, NULL, NULL);
}

/* Locks of a file belong to its open descriptions, or (POSIX) to processes. */
static int file;

static void open_file(void)
{
	file = open("/proc/self/exe", O_RDONLY);
}

static void lock_file(void)
{
	static int own = -1;

	if (own < 0)
		own = open("/proc/self/exe", O_RDONLY);
	if (flock(own, LOCK_EX))
		exit(1);
	answer[1] = own;
}

/* The process that takes the lock ends; its parent has the open file. */
static void lock_inherited(void)
{
	pid_t pid;

	answer[1] = open("/proc/self/exe", O_RDONLY);
	pid = fork();
	if (!pid)
		_exit(flock(answer[1], LOCK_EX));
	waitpid(pid, NULL, 0);
}

static void give_back(void)
{
	close(answer[1]);
}

static void unlock_file(void)
{
	flock(answer[1], LOCK_UN);
}

static void wait_file(void)
{
	flock(file, LOCK_EX);
	flock(file, LOCK_UN);
}

static void lock_range(int cmd, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(file, cmd, &lock))
		exit(1);
}

static void make_posix(void)
{
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

static void lock_posix(void)
{
	lock_range(F_SETLK, F_WRLCK);
}

static void unlock_posix(void)
{
	lock_range(F_SETLK, F_UNLCK);
}

static void wait_posix(void)
{
	lock_range(F_SETLKW, F_WRLCK);
	unlock_posix();
}

/* Of open files: the handler's process opens it once more. */
static void make_ofd(void)
{
	char path[32];

	make_posix();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	answer[0] = open(path, O_RDWR);
}

static void lock_ofd(void)
{
	lock_range(F_OFD_SETLK, F_WRLCK);
}

static void unlock_ofd(void)
{
	lock_range(F_OFD_SETLK, F_UNLCK);
}

static void wait_ofd(void)
{
	if (answer[0] >= 0) {
		close(file);
		file = answer[0];
		answer[0] = -1;
	}
	lock_range(F_OFD_SETLKW, F_WRLCK);
	unlock_ofd();
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void lock_rw(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void unlock_rw(void)
{
	pthread_rwlock_unlock(&rwlock);
}

static void wait_rw(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

/* --- A file system that the partner serves, and a terminal that it reads. The handler's process
 * gives its own copy of that descriptor back.
 */

static int server = -1; /* /dev/fuse, or the terminal's master */

static void leave_server(void)
{
	if (server >= 0)
		close(server);
	server = -1;
}

/* Answers one request: each name is missing. */
static void answer_request(void)
{
	static char request[1 << 17];
	struct fuse_in_header *in = (void *)request;
	struct fuse_out_header out = { sizeof(out), -ENOENT, 0 };
	struct {
		struct fuse_out_header out;
		struct fuse_init_out init;
	} hello = { .out.len = sizeof(hello),
		    .init = { .major = 7, .minor = 31, .max_write = 65536 } };

	if (read(server, request, sizeof(request)) < (ssize_t)sizeof(*in))
		exit(1);
	hello.out.unique = out.unique = in->unique;
	if (in->opcode == FUSE_INIT ? write(server, &hello, sizeof(hello)) < 0
				    : write(server, &out, sizeof(out)) < 0)
		exit(1);
}

static void make_fuse(void)
{
	char options[96];

	server = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", server);
	if (server < 0 || unshare(CLONE_NEWNS) || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) ||
	    mount("partner", "/mnt", "fuse", 0, options))
		exit(1);
	answer_request();
}

static void wait_fuse(void)
{
	struct stat st;

	leave_server();
	stat("/mnt/x", &st);
}

static int terminal;

static void make_terminal(void)
{
	server = posix_openpt(O_RDWR | O_NOCTTY);
	if (server < 0 || grantpt(server) || unlockpt(server))
		exit(1);
	terminal = open(ptsname(server), O_RDWR | O_NOCTTY | O_NONBLOCK);
	if (terminal < 0)
		exit(1);
}

static size_t filled; /* bytes */

/*
 * Fills the terminal, until there is no room for the handler's byte. A worker of the kernel moves
 * the first bytes on to the reader's side, and makes room once more.
 */
static void fill_terminal(void)
{
	static const char text[256];
	size_t sz = sizeof(text);
	ssize_t len;

	fcntl(terminal, F_SETFL, O_RDWR | O_NONBLOCK);
	filled = 0;
	for (int full_cnt = 0; full_cnt < 5;) {
		len = write(terminal, text, sz);
		if (len > 0) {
			filled += (size_t)len;
			full_cnt = 0;
		} else if (sz > 1) {
			sz = 1;
		} else {
			full_cnt++;
			usleep(4000);
		}
	}
	fcntl(terminal, F_SETFL, O_RDWR);
}

static void read_terminal(void)
{
	static char text[1 << 12];

	while (filled) {
		ssize_t len = read(server, text, filled < sizeof(text) ? filled : sizeof(text));

		if (len <= 0)
			exit(1);
		filled -= (size_t)len;
	}
}

static void wait_terminal(void)
{
	leave_server();
	tell(terminal);
}

static void *work_once(void *arg)
{
	work();
	return arg;
}

static void join(void)
{
	pthread_t thread;

	begin("partner", work_once, NULL, &thread);
	pthread_join(thread, NULL);
}

static void wait_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "partner");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (link_cnt > 1)
			begin("far", be_far, NULL, NULL);
		work();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Of any child: the partner or the other one. */
static void wait_children(void)
{
	waitpid(-1, NULL, 0);
}

static void nothing(void)
{
}

static const struct kind {
	const char *name;
	void (*make)(void);
	void (*take)(void), (*give)(void); /* NULL: the wait itself starts the partner */
	void (*wait)(void);
	int is_process;
} kinds[] = {
	{ "mutex", nothing, lock, unlock, wait_mutex, 0 },
	{ "condition", nothing, nothing, signal_condition, wait_condition, 0 },
	{ "join", nothing, NULL, NULL, join, 0 },
	{ "pipe", make_pipe, nothing, reply, wait_answer, 1 },
	{ "shared", make_shared_pipe, nothing, reply, wait_answer, 1 },
	{ "children", be_other, nothing, nothing, wait_children, 1 },
	{ "poll", make_pipe, nothing, reply, wait_polled, 1 },
	{ "unix", make_unix, nothing, reply, wait_answer, 1 },
	{ "tcp", make_tcp, nothing, reply, wait_answer, 1 },
	{ "flock", open_file, lock_file, unlock_file, wait_file, 1 },
	{ "child", nothing, NULL, NULL, wait_child, 1 },
	{ "posix", make_posix, lock_posix, unlock_posix, wait_posix, 1 },
	{ "inherited", open_file, lock_inherited, give_back, wait_file, 1 },
	{ "ofd", make_ofd, lock_ofd, unlock_ofd, wait_ofd, 1 },
	{ "rwlock", nothing, lock_rw, unlock_rw, wait_rw, 0 },
	{ "fuse", make_fuse, nothing, answer_request, wait_fuse, 1 },
	{ "terminal", make_terminal, fill_terminal, read_terminal, wait_terminal, 1 },
};
