/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both sides of the desk. A place goes IDLE -> ASKED (its holder) -> BUSY -> DONE (the owner's
 * thread) -> IDLE (its holder). Who gives up takes back an order that is still ASKED; one that is
 * BUSY becomes DONE without a holder, and the place is free.
 */
#include "hca/memory/copy_server.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/service.h"
#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/peers/rpc.h"
#include "hca/peers/peer.h"
#include "hca/memory/mem.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define LOOKS      200
#define NAP_NS     20000000
#define HALTED_NS  1000000000ull /* who waits for a stopped process's memory holds up others */
#define PATIENCE   10000000000ull
#define STACK_SIZE (256u << 10)

enum state { IDLE, ASKED, BUSY, DONE };
enum op { OP_READ, OP_WRITE, OP_CMP_SWAP, OP_FETCH_ADD };

static pthread_mutex_t copy_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(copy_lock, FORKSAFE_OBJECT);
static bool is_open;

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- the owner ---- */

/* The order is a copy: its asker may write there meanwhile. Inside an epoch section. */
static int carry_out(struct copy_request *o, uint8_t *data)
{
	const struct hca_segment *seg = hca.peers.segment;
	const struct hca_mr_entry *e;
	struct hca_list list;
	uint64_t old = 0;
	bool done;

	if (o->len > COPY_SERVER_BYTES || o->op > OP_FETCH_ADD ||
	    (o->op >= OP_CMP_SWAP && (o->len != 8 || o->addr & 7)))
		return -EINVAL;
	e = hca_mem_find(seg, o->key, o->pdn, seg->mr[o->key >> 8].qpn, o->addr, o->len, 0);
	if (!e || e->flags & HCA_MR_INDIRECT)
		return -EACCES;
	hca_mem_piece(e, o->addr, o->len, &list);
	switch ((enum op)o->op) {
	case OP_READ:
		done = hca_mem_copy_out(&list, 0, data, o->len);
		break;
	case OP_WRITE:
		done = hca_mem_copy_in(&list, 0, data, o->len);
		break;
	default:
		done = hca_mem_atomic(&list.seg[0], o->op == OP_FETCH_ADD, o->compare, o->swap,
				      &old);
		break;
	}
	o->swap = old;
	return done ? 0 : -EFAULT;
}

static bool serve_place(struct copy_slot *p)
{
	struct copy_request order;
	uint32_t state = ASKED;

	/* [K1] pairs with ask(): the order before the state */
	if (!atomic_compare_exchange_strong_explicit(&p->state, &state, BUSY, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	order = p->request;
	epoch_enter();
	p->result = carry_out(&order, p->data);
	epoch_exit();
	p->request.swap = order.swap;
	/* [K2] pairs with is_done(): the data before the state */
	atomic_store_explicit(&p->state, DONE, memory_order_release);
	futex_wake(&p->state);
	return true;
}

static void *desk_main(void *arg)
{
	struct copy_area *desk = arg;

	pthread_setname_np(pthread_self(), "verbena-desk");
	share_thread_begin();
	for (;;) {
		uint32_t bell = atomic_load(&desk->doorbell);
		bool some = false;

		for (unsigned int i = 0; i < COPY_SERVER_SLOTS; i++)
			some |= serve_place(&desk->slot[i]);
		if (some)
			continue;
		share_thread_idle();
		futex_wait(&desk->doorbell, bell, NULL);
		share_thread_busy();
	}
	return NULL;
}

/* On the service thread, whose signal mask and processors are what the new one shall have. */
static void start(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = 0;

	(void)arg;
	pthread_mutex_lock(&copy_lock);
	if (!is_open) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK_SIZE);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, desk_main, &hca.peers.segment->copies);
		pthread_attr_destroy(&attr);
		is_open = !err;
	}
	pthread_mutex_unlock(&copy_lock);
	if (err)
		explain_note("memory that others share with this process stays out of their reach: "
			     "no thread: %d",
			     err);
}

void copy_server_open(void)
{
	fabric_service_run(start, NULL);
}

static int serve_open(fabric_id_t from, const void *in, void *out)
{
	(void)from;
	(void)in;
	(void)out;
	start(NULL);
	return 0;
}

void copy_server_forked(void)
{
	is_open = false;
}

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_DESK_OPEN, serve_open);
}

/* ---- the asker ---- */

static bool is_free(const struct copy_slot *p, uint32_t holder)
{
	uint32_t state = atomic_load(&p->state);

	if (state == ASKED || state == BUSY)
		return false;
	return !holder || (holder != fabric_self() && !fabric_process_alive(holder));
}

static struct copy_slot *claim(struct hca_peer *peer, uint64_t until_ns)
{
	struct copy_area *desk = &peer->segment->copies;

	do {
		for (unsigned int i = 0; i < COPY_SERVER_SLOTS; i++) {
			struct copy_slot *p = &desk->slot[i];
			uint32_t holder = atomic_load(&p->client);

			if (!is_free(p, holder) ||
			    !atomic_compare_exchange_strong(&p->client, &holder, fabric_self()))
				continue;
			if (is_free(p, FABRIC_ID_NONE))
				return p;
			/* Somebody was here and left an order behind that is being served. */
			atomic_store(&p->client, FABRIC_ID_NONE);
		}
		sched_yield();
	} while (hca_peer_is_up(peer) && fabric_now_ns() < until_ns);
	return NULL;
}

static bool is_done(const struct copy_slot *p)
{
	/* [K2] */
	return atomic_load_explicit(&p->state, memory_order_acquire) == DONE;
}

static bool is_hopeless(const struct hca_peer *peer, uint64_t since_ns)
{
	uint64_t waited = fabric_now_ns() - since_ns;

	if (!fabric_process_alive(peer->id) || waited > PATIENCE)
		return true;
	return waited > HALTED_NS && hca_peer_is_halted(peer);
}

static bool wait_done(struct hca_peer *peer, struct copy_slot *p, uint64_t since_ns)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (unsigned int i = 0; i < LOOKS; i++)
		if (is_done(p))
			return true;
	while (!is_done(p)) {
		uint32_t state = atomic_load(&p->state);

		if (state != DONE)
			futex_wait(&p->state, state, &nap);
		if (!is_done(p) && is_hopeless(peer, since_ns))
			return is_done(p);
	}
	return true;
}

/* Data is in `here` or goes there; the order has what the owner made of it. */
static bool ask(struct hca_peer *peer, struct copy_request *o, void *here)
{
	uint64_t since = fabric_now_ns();
	struct copy_slot *p = claim(peer, since + PATIENCE);
	uint32_t asked = ASKED;
	bool done;

	if (!p)
		return false;
	p->request = *o;
	if (o->op == OP_WRITE)
		vb_copy(p->data, here, o->len);
	/* [K1] */
	atomic_store_explicit(&p->state, ASKED, memory_order_release);
	atomic_fetch_add(&peer->segment->copies.doorbell, 1);
	futex_wake(&peer->segment->copies.doorbell);
	done = wait_done(peer, p, since);
	if (done) {
		done = !p->result;
		o->swap = p->request.swap;
		if (done && o->op == OP_READ)
			vb_copy(here, p->data, o->len);
		atomic_store(&p->state, IDLE);
	} else {
		atomic_compare_exchange_strong(&p->state, &asked, IDLE);
	}
	atomic_store(&p->client, FABRIC_ID_NONE);
	return done;
}

void copy_server_seg(struct hca_peer *peer, const struct hca_mr_entry *e, uint32_t key,
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

bool copy_server_copy(const struct hca_seg *there, uint64_t off, void *here, uint64_t len,
		      bool write)
{
	for (uint64_t at = 0, n; at < len; at += n) {
		struct copy_request o = {
			.op = write ? OP_WRITE : OP_READ,
			.key = there->key,
			.pdn = there->pdn,
			.addr = there->base + off + at,
		};

		n = len - at < COPY_SERVER_BYTES ? len - at : COPY_SERVER_BYTES;
		o.len = (uint32_t)n;
		if (!ask((struct hca_peer *)(void *)there->ptr, &o, (char *)here + at))
			return false;
	}
	return true;
}

bool copy_server_atomic(const struct hca_seg *there, bool add, uint64_t compare, uint64_t swap,
			uint64_t *old)
{
	struct copy_request o = {
		.op = add ? OP_FETCH_ADD : OP_CMP_SWAP,
		.key = there->key,
		.pdn = there->pdn,
		.len = 8,
		.addr = there->base,
		.compare = compare,
		.swap = swap,
	};

	if (!ask((struct hca_peer *)(void *)there->ptr, &o, NULL))
		return false;
	*old = o.swap;
	return true;
}
