/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the fabric up and takes it down: once per process, again in the child of a fork. init_lock
 * guards that; the parts below keep their own state.
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/epoch_priv.h"
#include "fabric/link_priv.h"
#include "fabric/poll_priv.h"
#include "fabric/service_priv.h"
#include "util/explain.h"

#define HANDSHAKE_MS 20000u /* a process may have to wait for a processor */

static int share_nothing(void)
{
	return -1;
}

static unsigned int drain_all(struct fabric_link *link)
{
	unsigned int count = 0;
	uint32_t len;

	while (fabric_link_peek(link, &len)) {
		fabric_link_release(link);
		count++;
	}
	return count;
}

static void ignore_link(struct fabric_link *link)
{
}

static void no_watch(uint64_t now_ns, uint64_t period_ns)
{
}

static uint64_t no_timers(uint64_t now_ns)
{
	return UINT64_MAX;
}

static void do_nothing(void)
{
}

static const struct fabric_config defaults = {
	.handshake_ms = HANDSHAKE_MS,
	.share_fd = share_nothing,
	.drain = drain_all,
	.link_up = ignore_link,
	.link_down = ignore_link,
	.room = ignore_link,
	.idle = do_nothing,
	.watch = no_watch,
	.timers = no_timers,
	.before_fork = do_nothing,
	.after_fork = do_nothing,
	.forked = do_nothing,
};

/* Fork handlers read it even before the fabric is up. */
struct fabric_config fabric_config = {
	.before_fork = do_nothing,
	.after_fork = do_nothing,
};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static _Atomic bool up;

bool fabric_is_up(void)
{
	return atomic_load_explicit(&up, memory_order_acquire);
}

static uint32_t ring_size_wanted(void)
{
	const char *text = getenv("VERBENA_RING");
	unsigned long long size;
	char *end;

	if (!text || !*text)
		return FABRIC_RING_DEFAULT;
	size = strtoull(text, &end, 0);
	if (*end || size < FABRIC_RING_MIN || size > FABRIC_RING_MAX || (size & (size - 1))) {
		explain_note("VERBENA_RING=%s is not a power of two from %u to %u; taking %u", text,
			     FABRIC_RING_MIN, FABRIC_RING_MAX, FABRIC_RING_DEFAULT);
		return FABRIC_RING_DEFAULT;
	}
	return (uint32_t)size;
}

static int take_config(const struct fabric_config *config)
{
	struct fabric_config c = *config;

	if (!c.ring_size)
		c.ring_size = ring_size_wanted();
	if (c.ring_size < FABRIC_RING_MIN || c.ring_size > FABRIC_RING_MAX ||
	    (c.ring_size & (c.ring_size - 1)))
		return explain(EINVAL, "rings of %u bytes; a power of two from %u to %u is needed",
			       c.ring_size, FABRIC_RING_MIN, FABRIC_RING_MAX);
	if (!c.handshake_ms)
		c.handshake_ms = defaults.handshake_ms;
	if (!c.share_fd)
		c.share_fd = defaults.share_fd;
	if (!c.drain)
		c.drain = defaults.drain;
	if (!c.link_up)
		c.link_up = defaults.link_up;
	if (!c.link_down)
		c.link_down = defaults.link_down;
	if (!c.room)
		c.room = defaults.room;
	if (!c.idle)
		c.idle = defaults.idle;
	if (!c.watch)
		c.watch = defaults.watch;
	if (!c.timers)
		c.timers = defaults.timers;
	if (!c.before_fork || !c.after_fork) {
		c.before_fork = defaults.before_fork;
		c.after_fork = defaults.after_fork;
	}
	if (!c.forked)
		c.forked = defaults.forked;
	fabric_config = c;
	return 0;
}

/* ---- fork: the order of the locks is the order in which threads nest them ---- */

static void fork_prepare(void)
{
	fabric_service_fork_prepare_turn();
	fabric_config.before_fork();
	pthread_mutex_lock(&init_lock);
	fabric_links_fork_prepare();
	fabric_service_fork_prepare();
	fabric_directory_fork_prepare();
	fabric_epoch_fork_prepare();
}

static void fork_parent(void)
{
	fabric_epoch_fork_parent();
	fabric_directory_fork_parent();
	fabric_service_fork_parent();
	fabric_links_fork_parent();
	pthread_mutex_unlock(&init_lock);
	fabric_config.after_fork();
}

static void fork_child(void)
{
	bool was_up = fabric_is_up();

	atomic_store(&up, false);
	barrier_forget();
	fabric_poll_fini();
	fabric_epoch_fork_child();
	fabric_directory_fork_child();
	handshake_fork_child();
	fabric_service_fork_child();
	fabric_links_fork_child();
	fabric_segment_fork_child();
	pthread_mutex_unlock(&init_lock);
	if (was_up)
		fabric_config.forked();
	fabric_config.after_fork();
}

static void watch_forks(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- up and down ---- */

static int put_up(const struct fabric_config *config)
{
	uint8_t token[FABRIC_TOKEN_BYTES];
	int err;

	err = take_config(config);
	if (err)
		return err;
	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return explain(EIO, "the kernel gives no random bytes");
	barrier_init();
	fabric_links_init();
	err = fabric_segment_create(fabric_config.segment_size);
	if (err)
		return err;
	err = fabric_service_init();
	if (err)
		goto destroy_segment;
	err = handshake_listen(token);
	if (err)
		goto fini_service;
	fabric_poll_init(fabric_segment_self(), fabric_config.drain);
	/* Last: from here on others may look for us. */
	err = fabric_directory_join(token);
	if (err)
		goto unlisten;
	return 0;
unlisten:
	fabric_poll_fini();
	handshake_unlisten();
fini_service:
	fabric_service_fini();
destroy_segment:
	fabric_segment_destroy();
	return err;
}

int fabric_init(const struct fabric_config *config)
{
	int err = -EALREADY;

	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&init_lock);
	if (!fabric_is_up())
		err = put_up(config);
	if (!err)
		atomic_store_explicit(&up, true, memory_order_release);
	pthread_mutex_unlock(&init_lock);
	return err;
}

void fabric_fini(void)
{
	pthread_mutex_lock(&init_lock);
	if (fabric_is_up()) {
		atomic_store(&up, false);
		fabric_service_fini();
		handshake_unlisten();
		fabric_poll_fini();
		fabric_directory_leave();
		fabric_segment_destroy();
	}
	pthread_mutex_unlock(&init_lock);
}

/* Threads of the program may still run, so nothing is unmapped; the kernel does the rest. */
__attribute__((destructor)) static void leave_at_exit(void)
{
	fabric_directory_exit();
}
