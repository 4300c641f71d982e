/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/copy_server.h"

#include <errno.h>
#include <pthread.h>

#include "fabric/mailbox.h"
#include "fabric/service.h"
#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "fabric/epoch.h"
#include "hca/peers/rpc.h"
#include "hca/peers/segment.h"
#include "util/explain.h"
#include "util/futex.h"

#define STACK_SIZE (256u << 10)

/* `o` is a copy: the client may write to its slot at any time. Inside an epoch section. */
static int carry_out(struct copy_request *o, uint8_t *data)
{
	const struct hca_segment *seg = hca.peers.segment;
	const struct hca_mr_entry *e;
	struct hca_atomic atomic;
	struct hca_list list;
	uint64_t old = 0;
	bool done;

	if (o->len > COPY_SERVER_BYTES || o->op > COPY_FETCH_ADD ||
	    (o->op >= COPY_CMP_SWAP && ((o->len != 4 && o->len != 8) || o->addr & (o->len - 1))))
		return -EINVAL;
	e = hca_mem_find(seg, o->key, o->pdn, seg->mr[o->key >> 8].qpn, o->addr, o->len, 0);
	if (!e || hca_entry_flags(e) & HCA_MR_INDIRECT)
		return -EACCES;
	hca_mem_piece(e, o->addr, o->len, &list);
	switch ((enum copy_op)o->op) {
	case COPY_READ:
		done = hca_mem_copy_out(&list, 0, data, o->len);
		break;
	case COPY_WRITE:
		done = hca_mem_copy_in(&list, 0, data, o->len);
		break;
	default:
		atomic = (struct hca_atomic){
			.add = o->op == COPY_FETCH_ADD,
			.size = (uint8_t)o->len,
			.swap = o->swap,
			.compare = o->compare,
			.swap_mask = o->swap_mask,
			.compare_mask = o->compare_mask,
		};
		done = hca_mem_atomic(&list.seg[0], &atomic, &old);
		break;
	}
	o->swap = old;
	return done ? 0 : -EFAULT;
}

static bool serve_slot(struct copy_slot *p)
{
	struct copy_request request;
	uint32_t state = COPY_POSTED;

	/* [SV1] pairs with call(): the request before the state */
	if (!atomic_compare_exchange_strong_explicit(&p->state, &state, COPY_BUSY,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	request = p->request;
	epoch_enter();
	p->result = carry_out(&request, p->data);
	epoch_exit();
	p->request.swap = request.swap;
	/* [SV2] pairs with is_done(): the data before the state */
	atomic_store_explicit(&p->state, COPY_DONE, memory_order_release);
	futex_wake_all(&p->state);
	return true;
}

static void *server_main(void *arg)
{
	struct copy_area *area = arg;

	pthread_setname_np(pthread_self(), "verbena-copy");
	share_thread_begin();
	for (;;) {
		uint32_t doorbell = atomic_load(&area->doorbell);
		bool some = false;

		for (unsigned int i = 0; i < COPY_SERVER_SLOTS; i++)
			some |= serve_slot(&area->slot[i]);
		if (some)
			continue;
		share_thread_idle();
		futex_wait(&area->doorbell, doorbell, NULL);
		share_thread_busy();
	}
	return NULL;
}

/* On the service thread, whose signal mask and processors the new thread inherits. */
static void start(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = 0;

	(void)arg;
	pthread_mutex_lock(&hca.memory.copy_server.lock);
	if (!hca.memory.copy_server.started) {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK_SIZE);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, server_main, fabric_mailbox_self());
		pthread_attr_destroy(&attr);
		hca.memory.copy_server.started = !err;
	}
	pthread_mutex_unlock(&hca.memory.copy_server.lock);
	if (err)
		explain_note("processes that share a context with this one cannot reach its "
			     "memory: no thread: %d",
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

__attribute__((constructor)) static void serve(void)
{
	hca_rpc_serve(HCA_RPC_SERVE_COPIES, serve_open);
}
