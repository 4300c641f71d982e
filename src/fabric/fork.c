/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that forks takes all locks first, in the order in which they nest (state.h), so that
 * the child finds no state half changed. service.awake comes first of all: once it is taken, the
 * service thread sleeps.
 */
#include "fabric/fork.h"

#include <pthread.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/handshake.h"
#include "fabric/link.h"
#include "fabric/mailbox.h"
#include "fabric/poll.h"
#include "fabric/segment.h"
#include "fabric/service.h"
#include "fabric/state.h"

static void prepare(void)
{
	if (fabric.config.fork_begins)
		fabric.config.fork_begins();
	pthread_mutex_lock(&fabric.service.awake);
	if (fabric.config.before_fork)
		fabric.config.before_fork();
	pthread_mutex_lock(&fabric.init_lock);
	pthread_mutex_lock(&fabric.links.lock);
	pthread_mutex_lock(&fabric.service.lock);
	fabric_lock(&fabric.service.timer_lock);
	pthread_mutex_lock(&fabric.directory.lock);
	fabric_lock(&fabric.epoch.reclaim_lock);
	fabric_lock(&fabric.links.allocated_lock);
	fabric_lock(&fabric.epoch.retired_lock);
}

static void unlock(void)
{
	fabric_unlock(&fabric.epoch.retired_lock);
	fabric_unlock(&fabric.links.allocated_lock);
	fabric_unlock(&fabric.epoch.reclaim_lock);
	pthread_mutex_unlock(&fabric.directory.lock);
	fabric_unlock(&fabric.service.timer_lock);
	pthread_mutex_unlock(&fabric.service.lock);
	pthread_mutex_unlock(&fabric.links.lock);
	pthread_mutex_unlock(&fabric.init_lock);
	pthread_mutex_unlock(&fabric.service.awake);
}

static void parent(void)
{
	unlock();
	if (fabric.config.after_fork)
		fabric.config.after_fork();
	if (fabric.config.fork_ends)
		fabric.config.fork_ends();
}

static void child(void)
{
	bool was_up = atomic_exchange(&fabric.up, false);

	unlock();
	barrier_forked();
	fabric_poll_fini();
	epoch_forked();
	fabric_directory_forked();
	handshake_forked();
	fabric_service_forked();
	fabric_links_forked();
	fabric_mailbox_forked();
	fabric_segment_forked();
	/* Unlocked first: the reset of the adapter's state includes its locks. */
	if (fabric.config.after_fork)
		fabric.config.after_fork();
	if (was_up && fabric.config.forked)
		fabric.config.forked();
}

int fabric_fork_watch(void)
{
	int err = fabric.fork_watched ? 0 : pthread_atfork(prepare, parent, child);

	if (!err)
		fabric.fork_watched = true;
	return -err;
}
