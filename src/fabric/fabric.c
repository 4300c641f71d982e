/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and stops the fabric: once per process, again in the child of a fork. init_lock guards
 * that.
 */
#include "fabric/fabric.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/fork.h"
#include "fabric/handshake.h"
#include "fabric/link.h"
#include "fabric/link_service.h"
#include "fabric/mailbox.h"
#include "fabric/poll.h"
#include "fabric/ring.h"
#include "fabric/segment.h"
#include "fabric/service.h"
#include "fabric/state.h"
#include "util/explain.h"

#define HANDSHAKE_MS 20000u /* a process may have to wait for a processor */
#define RECLAIM_NS   1000000u

/* ---- the configuration, and what stands for functions that the adapter does not have ---- */

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

static void ignore_check(uint64_t now_ns, uint64_t period_ns)
{
}

static uint64_t no_deadline(uint64_t now_ns)
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
	.link_room = ignore_link,
	.polling_stopped = do_nothing,
	.polling_check = ignore_check,
	.timers = no_deadline,
	.before_sleep = no_deadline,
};

bool fabric_is_up(void)
{
	return atomic_load_explicit(&fabric.up, memory_order_acquire);
}

static uint32_t ring_size_from_env(void)
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

static int set_config(const struct fabric_config *config)
{
	struct fabric_config c = *config;

	if (!c.ring_size)
		c.ring_size = ring_size_from_env();
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
	if (!c.link_room)
		c.link_room = defaults.link_room;
	if (!c.polling_stopped)
		c.polling_stopped = defaults.polling_stopped;
	if (!c.polling_check)
		c.polling_check = defaults.polling_check;
	if (!c.timers)
		c.timers = defaults.timers;
	if (!c.before_sleep)
		c.before_sleep = defaults.before_sleep;
	fabric.config = c;
	return 0;
}

/* ---- the service thread ---- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static uint64_t iterate(uint64_t now_ns)
{
	uint64_t next_ns = fabric_links_iterate(now_ns);

	next_ns = earlier(next_ns, fabric_poll_iterate(now_ns));
	next_ns = earlier(next_ns, fabric.config.before_sleep(now_ns));
	if (epoch_reclaim())
		next_ns = earlier(next_ns, now_ns + RECLAIM_NS);
	return next_ns;
}

/* ---- up and down ---- */

static int start(const struct fabric_config *config)
{
	uint8_t token[FABRIC_TOKEN_BYTES];
	int err;

	err = set_config(config);
	if (err)
		return err;
	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return explain(EIO, "the kernel gives no random bytes");
	barrier_init();
	err = fabric_segment_create(fabric.config.segment_size);
	if (err)
		return err;
	err = fabric_mailbox_create(fabric.config.mailbox_size);
	if (err)
		goto destroy_segment;
	err = fabric_service_init(iterate, fabric_links_shutdown);
	if (err)
		goto destroy_mailbox;
	err = handshake_listen(token);
	if (err)
		goto fini_service;
	epoch_init();
	fabric_poll_init();
	/* Last: from here on peers may connect. */
	err = fabric_directory_join(token);
	if (err)
		goto unlisten;
	return 0;
unlisten:
	fabric_poll_fini();
	epoch_fini();
	handshake_unlisten();
fini_service:
	fabric_service_fini();
destroy_mailbox:
	fabric_mailbox_destroy();
destroy_segment:
	fabric_segment_destroy();
	return err;
}

int fabric_init(const struct fabric_config *config)
{
	int err = -EALREADY;

	pthread_mutex_lock(&fabric.init_lock);
	if (!fabric_is_up())
		err = fabric_fork_watch();
	if (!err)
		err = start(config);
	if (!err)
		atomic_store_explicit(&fabric.up, true, memory_order_release);
	pthread_mutex_unlock(&fabric.init_lock);
	return err;
}

void fabric_fini(void)
{
	pthread_mutex_lock(&fabric.init_lock);
	if (fabric_is_up()) {
		atomic_store(&fabric.up, false);
		fabric_service_fini();
		handshake_unlisten();
		fabric_poll_fini();
		epoch_fini();
		fabric_directory_leave();
		fabric_mailbox_destroy();
		fabric_segment_destroy();
	}
	pthread_mutex_unlock(&fabric.init_lock);
}

/* Threads of the program may still run, so nothing is unmapped; the kernel does that. */
__attribute__((destructor)) static void leave_at_exit(void)
{
	fabric_directory_exit();
}
