/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service thread's work for links: connects them, ends them when their time is over or when
 * they were killed, and tells the adapter when there is room again.
 */
#include "fabric/link_service.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fabric/barrier.h"
#include "fabric/handshake.h"
#include "fabric/link.h"
#include "fabric/link_cold.h"
#include "fabric/mailbox.h"
#include "fabric/segment.h"
#include "fabric/state.h"
#include "util/explain.h"

#define RETRY_NS 10000000u
#define ROOM_NS  1000000u

static int connect_self(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;
	int fd, share, err;

	err = fabric_ring_memfd(fabric.config.ring_size, 1, &fd);
	if (err)
		return err;
	err = fabric_ring_map(fd, fabric.config.ring_size, 1, &cold->rings);
	close(fd);
	if (err)
		return err;
	share = fabric.config.share_fd();
	cold->share_fd = share < 0 ? -1 : fcntl(share, F_DUPFD_CLOEXEC, 3);
	cold->segment = fabric_segment_self();
	cold->segment_size = fabric_segment_size();
	cold->mailbox = fabric_mailbox_self();
	cold->mailbox_size = fabric_mailbox_size();
	cold->pid = getpid();
	cold->peer_barrier = barrier_has_global();
	fabric_link_up(link);
	return 0;
}

static void explain_deadline(const struct fabric_link *link)
{
	if (link->cold->shortage)
		explain_note("no link to process %u can be made here: %s", (unsigned int)link->peer,
			     strerror(link->cold->shortage));
	else
		explain_note("process %u does not answer; its link is closed after %u ms",
			     (unsigned int)link->peer, fabric.config.handshake_ms);
}

static void iterate_connecting(struct fabric_link *link, uint64_t now_ns)
{
	struct fabric_link_cold *cold = link->cold;
	int err;

	if (now_ns >= cold->deadline_ns) {
		explain_deadline(link);
		fabric_link_down(link);
		return;
	}
	if (cold->sock >= 0 || now_ns < cold->retry_ns)
		return;
	err = cold->self ? connect_self(link) : handshake_connect(link);
	cold->retry_ns = now_ns + RETRY_NS;
	if (err && err != -EAGAIN && !fabric_link_lacks(link, err, now_ns))
		fabric_link_down(link);
}

/* Next deadline of a CONNECTING link. */
static uint64_t next_try_ns(const struct fabric_link_cold *cold)
{
	return cold->sock < 0 && cold->retry_ns < cold->deadline_ns ? cold->retry_ns
								    : cold->deadline_ns;
}

static bool check_room(struct fabric_link *link)
{
	bool room = fabric_link_room_is_back(link);

	if (room)
		fabric.config.link_room(link);
	return room;
}

static void iterate_link(struct fabric_link *link, uint64_t now_ns, uint64_t *next_ns)
{
	if (atomic_load(&link->cold->kill))
		fabric_link_down(link);
	if (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		iterate_connecting(link, now_ns);
	if (fabric_link_state(link) == FABRIC_LINK_CONNECTING) {
		fabric.links.some_connecting = true;
		if (next_try_ns(link->cold) < *next_ns)
			*next_ns = next_try_ns(link->cold);
	}
	if (fabric_link_state(link) == FABRIC_LINK_UP && atomic_load(&link->cold->want_room) &&
	    !check_room(link))
		fabric.links.some_want_room = true;
}

uint64_t fabric_links_iterate(uint64_t now_ns)
{
	uint64_t next_ns = handshake_iterate(now_ns);
	struct fabric_link_cold *cold, *next;

	/* [K3] */
	if (!atomic_exchange_explicit(&fabric.links.flagged, false, memory_order_seq_cst) &&
	    !fabric.links.some_connecting && !fabric.links.some_want_room)
		return next_ns;
	fabric.links.some_connecting = false;
	fabric.links.some_want_room = false;
	for (cold = LIST_FIRST(&fabric.links.active); cold; cold = next) {
		struct fabric_link *link = fabric_link_hold(cold->link);

		/* No other link can become DEAD here. */
		next = LIST_NEXT(cold, in_active);
		iterate_link(link, now_ns, &next_ns);
		fabric_link_put(link);
	}
	if (fabric.links.some_want_room && now_ns + ROOM_NS < next_ns)
		next_ns = now_ns + ROOM_NS;
	return next_ns;
}

void fabric_links_shutdown(void)
{
	handshake_shutdown();
	while (!LIST_EMPTY(&fabric.links.active))
		fabric_link_down(LIST_FIRST(&fabric.links.active)->link);
}
