/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/copy_client.h"

#include <sched.h>
#include <time.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "hca/peers/peer.h"
#include "util/copy.h"
#include "util/futex.h"

#define SPINS     200
#define NAP_NS    20000000
#define HALTED_NS 1000000000ull  /* wait for a process that is stopped */
#define REPLY_NS  10000000000ull /* wait for any other */

static bool is_free(const struct copy_slot *p, uint32_t client)
{
	uint32_t state = atomic_load(&p->state);

	if (state == COPY_POSTED || state == COPY_BUSY)
		return false;
	return !client || (client != fabric_self() && !fabric_process_alive(client));
}

static struct copy_slot *claim(struct hca_peer *peer, uint64_t until_ns)
{
	struct copy_area *area = peer->mailbox;

	do {
		for (unsigned int i = 0; i < COPY_SERVER_SLOTS; i++) {
			struct copy_slot *p = &area->slot[i];
			uint32_t client = atomic_load(&p->client);

			if (!is_free(p, client) ||
			    !atomic_compare_exchange_strong(&p->client, &client, fabric_self()))
				continue;
			if (is_free(p, FABRIC_ID_NONE))
				return p;
			/* A client that gave up or died has left a request that is being served. */
			atomic_store(&p->client, FABRIC_ID_NONE);
		}
		sched_yield();
	} while (hca_peer_is_up(peer) && fabric_now_ns() < until_ns);
	return NULL;
}

static bool is_done(const struct copy_slot *p)
{
	/* [SV2] */
	return atomic_load_explicit(&p->state, memory_order_acquire) == COPY_DONE;
}

/* A client may hold locks that other threads wait for: it gives up on a stopped server soon. */
static bool should_give_up(const struct hca_peer *peer, uint64_t since_ns)
{
	uint64_t waited = fabric_now_ns() - since_ns;

	if (!fabric_process_alive(peer->id) || waited > REPLY_NS)
		return true;
	return waited > HALTED_NS && hca_peer_is_halted(peer);
}

static void ring(struct hca_peer *peer)
{
	atomic_fetch_add(&peer->mailbox->doorbell, 1);
	futex_wake_all(&peer->mailbox->doorbell);
}

static bool wait_done(struct hca_peer *peer, struct copy_slot *p, uint64_t since_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (unsigned int i = 0; i < SPINS; i++)
		if (is_done(p))
			return true;
	while (!is_done(p)) {
		uint32_t state = atomic_load(&p->state);

		if (state != COPY_DONE)
			futex_wait(&p->state, state, &nap);
		if (!is_done(p) && should_give_up(peer, since_ns))
			return is_done(p);
		/* Another client, one gone wild, may have undone the doorbell. */
		if (state == COPY_POSTED)
			ring(peer);
	}
	return true;
}

/*
 * Posts a request and waits for its end. `here` has the data, or receives it; o->swap receives the
 * old value of an atomic. A client that gives up withdraws a request that is still POSTED; one that
 * is BUSY becomes DONE without a client, and the slot is free then.
 */
static bool call(struct hca_peer *peer, struct copy_request *o, void *here)
{
	uint64_t since = fabric_now_ns();
	struct copy_slot *p = claim(peer, since + REPLY_NS);
	uint32_t posted = COPY_POSTED;
	bool done;

	if (!p)
		return false;
	p->request = *o;
	if (o->op == COPY_WRITE)
		vb_copy(p->data, here, o->len);
	/* [SV1] */
	atomic_store_explicit(&p->state, COPY_POSTED, memory_order_release);
	ring(peer);
	done = wait_done(peer, p, since);
	if (done) {
		done = !p->result;
		o->swap = p->request.swap;
		if (done && o->op == COPY_READ)
			vb_copy(here, p->data, o->len);
		atomic_store(&p->state, COPY_IDLE);
	} else {
		atomic_compare_exchange_strong(&p->state, &posted, COPY_IDLE);
	}
	atomic_store(&p->client, FABRIC_ID_NONE);
	return done;
}

void copy_client_seg(struct hca_peer *peer, const struct hca_mr_entry *e, uint32_t key,
		     uint64_t addr, uint64_t len, struct hca_seg *out)
{
	*out = (struct hca_seg){
		.ptr = (char *)peer,
		.len = len,
		.kind = HCA_SEG_SERVED,
		.key = key,
		.pdn = e->pdn,
		.base = addr,
	};
}

bool copy_client_copy(const struct hca_seg *there, uint64_t off, void *here, uint64_t len,
		      bool write)
{
	for (uint64_t at = 0, n; at < len; at += n) {
		struct copy_request o = {
			.op = write ? COPY_WRITE : COPY_READ,
			.key = there->key,
			.pdn = there->pdn,
			.addr = there->base + off + at,
		};

		n = len - at < COPY_SERVER_BYTES ? len - at : COPY_SERVER_BYTES;
		o.len = (uint32_t)n;
		if (!call((struct hca_peer *)(void *)there->ptr, &o, (char *)here + at))
			return false;
	}
	return true;
}

bool copy_client_atomic(const struct hca_seg *there, const struct hca_atomic *a, uint64_t *old)
{
	struct copy_request o = {
		.op = a->add ? COPY_FETCH_ADD : COPY_CMP_SWAP,
		.key = there->key,
		.pdn = there->pdn,
		.len = a->size,
		.addr = there->base,
		.compare = a->compare,
		.swap = a->swap,
		.compare_mask = a->compare_mask,
		.swap_mask = a->swap_mask,
	};

	if (!call((struct hca_peer *)(void *)there->ptr, &o, NULL))
		return false;
	*old = o.swap;
	return true;
}
