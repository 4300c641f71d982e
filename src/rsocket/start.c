/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket/cm_event.h"
#include "rsocket/service.h"
#include "rsocket/state.h"
#include "util/explain.h"

/*
 * The child of a fork has no service thread, and the adapter's objects are its parent's: it starts
 * without rsockets, as if it had just been loaded. What the parent's were made of is not freed.
 */
static void forget_in_child(void)
{
	rs_state.wake_fds.count = 0;
	memset(rs_state.blocks, 0, sizeof(rs_state.blocks));
	pthread_mutex_init(&rs_state.lock, NULL);
	pthread_mutex_init(&rs_state.start_lock, NULL);
	pthread_mutex_init(&rs_state.service_lock, NULL);
	rs_state.channel = NULL;
	rs_state.service_runs = false;
	atomic_store(&rs_state.ready, false);
}

static int open_channel(void)
{
	int flags, err;

	rs_state.channel = rdma_create_event_channel();
	if (!rs_state.channel)
		return -errno;
	flags = fcntl(rs_state.channel->fd, F_GETFL);
	if (flags >= 0 && !fcntl(rs_state.channel->fd, F_SETFL, flags | O_NONBLOCK))
		return 0;
	err = explain(errno, "the event channel of rsockets cannot be made non-blocking");
	rdma_destroy_event_channel(rs_state.channel);
	rs_state.channel = NULL;
	return err;
}

/* A step that was taken stays taken when a later one fails, and the next call goes on behind it. */
static int start(void)
{
	int err = 0;

	rs_config_load(RS_CONFIG_FOLDER, &rs_state.config);
	if (!rs_state.fork_handled && pthread_atfork(NULL, NULL, forget_in_child))
		return explain(ENOMEM, "no memory to watch for forks");
	rs_state.fork_handled = true;
	if (!rs_state.channel)
		err = open_channel();
	if (!err && !rs_state.service_runs)
		err = rs_service_start();
	if (err)
		return err;
	rs_state.service_runs = true;
	rs_state.channel_watch =
		(struct rs_watch){ .fd = rs_state.channel->fd, .ready = rs_cm_event_ready };
	return rs_service_watch(&rs_state.channel_watch);
}

int rs_start(void)
{
	int err = 0;

	if (atomic_load(&rs_state.ready))
		return 0;
	pthread_mutex_lock(&rs_state.start_lock);
	if (!atomic_load(&rs_state.ready)) {
		err = start();
		if (!err)
			atomic_store(&rs_state.ready, true);
	}
	pthread_mutex_unlock(&rs_state.start_lock);
	return err;
}
