/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All backends of a spool. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "files/own_path.h"
#include "send/uploader.h"

#ifdef HAVE_CURL

#define AGAIN_MS 1000 /* after a thread could not start */

static int start(struct uploader *uploader, struct err *err)
{
	int res = uploader__begin(uploader, err);

	if (res)
		return res;
	res = thread__start(&uploader->thread, uploader->backend->name, uploader__run, uploader);
	return res ? err__set(err, -res, "cannot start a thread: %s", strerror(-res)) : 0;
}

static int start_one(struct uploader *uploader, const struct uploader *like, struct err *err)
{
	int res;

	*uploader = *like;
	res = start(uploader, err);
	if (res)
		uploader__end(uploader);
	return res;
}

/*
 * The same. The first failure ends the run; one beside backends that run does not, and is tried
 * again until that does: else nothing would be sent to this backend, in silence.
 */
static int start_beside(struct uploader *uploader, const struct uploader *like, bool is_first,
			struct err *err)
{
	int res = start_one(uploader, like, err);

	if (!res || is_first || like->opts->until_sent)
		return res;
	log__warn("%s: %s; it is tried again", like->backend->name, err->msg);
	while (res && !uploader__wait(uploader, AGAIN_MS))
		res = start_one(uploader, like, err);
	if (!res)
		*err = (struct err){};
	return res;
}

/* All that has a URL. Returns the number that run. */
static unsigned start_all(const struct sender_opts *opts, int dirfd, struct uploader *uploaders,
			  struct err *err)
{
	unsigned cnt = 0;

	for (int i = 0; i < SEND_CNT; i++) {
		if (!opts->options->sends[i].url_cnt)
			continue;
		const struct uploader like = { .opts = opts,
					       .backend = backends[i],
					       .settings = &opts->options->sends[i],
					       .dirfd = dirfd };

		if (start_beside(&uploaders[cnt], &like, !cnt, err))
			break;
		cnt++;
	}
	return cnt;
}

int sender__run(const struct sender_opts *opts, struct err *err)
{
	struct uploader uploaders[SEND_CNT];
	struct err failure = {};
	int dirfd = own_path__dir(opts->options->spool, 0700, err), lock;
	unsigned cnt;

	if (dirfd < 0)
		return dirfd;
	lock = spool_dir__lock(dirfd, "send.lock");
	if (lock < 0) {
		close(dirfd);
		return err__set(err, -lock, "'%s': %s", opts->options->spool,
				lock == -EAGAIN
					? "another process sends the records of this spool: "
					  "end it first"
					: strerror(-lock));
	}
	cnt = start_all(opts, dirfd, uploaders, &failure);
	for (unsigned i = 0; i < cnt; i++) {
		pthread_join(uploaders[i].thread, NULL);
		uploader__end(&uploaders[i]);
	}
	close(lock);
	close(dirfd);
	if (failure.msg[0] && err)
		*err = failure;
	return failure.msg[0] ? -EIO : 0;
}

#else

int sender__run(const struct sender_opts *opts, struct err *err)
{
	struct http *http;

	return http__new(&http, err); /* says that there is no client */
}

#endif
