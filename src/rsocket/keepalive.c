/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/keepalive.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rsocket/post.h"
#include "rsocket/progress.h"
#include "rsocket/service.h"
#include "util/explain.h"

#define DEFAULT_S 7200

static void send_keepalive(struct rs_stream *s)
{
	const struct rs_target nowhere = { .wr_flags = RS_WR_NO_RING };

	/* Takes in the completion of the last one: an idle program makes no call that would. */
	rs_progress(s);
	if (s->phase != RS_CONNECTED || !s->ctrl_slots)
		return;
	s->ctrl_slots--;
	s->ctrl_seq++;
	if (rs_post_write(s, NULL, 0, rs_msg(RS_MSG_CTRL, RS_CTRL_KEEPALIVE), &nowhere))
		rs_stream_break(s, EIO);
}

static void timer_ready(struct rs_watch *watch)
{
	struct rs_stream *s =
		(struct rs_stream *)((char *)watch - offsetof(struct rs_stream, keepalive));
	uint64_t expirations;

	if (read(watch->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return;
	pthread_mutex_lock(&s->base.lock);
	send_keepalive(s);
	pthread_mutex_unlock(&s->base.lock);
}

/* The host's setting for TCP. */
static unsigned int system_default(void)
{
	unsigned int seconds = 0;
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_keepalive_time", "re");

	if (file) {
		if (fscanf(file, "%9u", &seconds) != 1)
			seconds = 0;
		fclose(file);
	}
	return seconds ? seconds : DEFAULT_S;
}

int rs_keepalive_rearm(struct rs_stream *s)
{
	const time_t period = s->base.options.keepalive_s;
	const struct itimerspec timer = { .it_interval.tv_sec = period, .it_value.tv_sec = period };

	if (s->keepalive.fd < 0)
		return 0;
	if (timerfd_settime(s->keepalive.fd, 0, &timer, NULL))
		return explain(errno, "no keep-alive timer of %ld s", (long)period);
	return 0;
}

static void stop(struct rs_stream *s)
{
	rs_service_unwatch(&s->keepalive);
	close(s->keepalive.fd);
	s->keepalive.fd = -1;
}

int rs_keepalive_set(struct rs_stream *s, bool on)
{
	int err;

	if (on == (s->keepalive.fd >= 0))
		return 0;
	if (!on) {
		stop(s);
		return 0;
	}
	if (!s->base.options.keepalive_s)
		s->base.options.keepalive_s = system_default();
	s->keepalive.ready = timer_ready;
	s->keepalive.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->keepalive.fd < 0)
		return explain(errno, "no descriptor for a keep-alive timer");
	err = rs_service_watch(&s->keepalive);
	if (!err)
		err = rs_keepalive_rearm(s);
	if (err)
		stop(s);
	return err;
}
