/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: life, states, and receiving. wq.h says which lock.
 *
 *	RESET -> RDY -> ERR -> RESET, RDY -> RESET	hca_wq_modify()
 *	RDY -> ERR					fail(), when an entry is no good
 */
#include "hca/raw/wq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/offload.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/transport/link_carrier.h"
#include "hca/transport/qp_types.h"
#include "hca/device/qpn.h"
#include "hca/transport/syndrome.h"
#include "hca/queue/srq_priv.h"
#include "util/explain.h"

#define FCS_BYTES  4u
#define VLAN_BYTES 4u
/* How long a queue that ran dry may hold up the frames behind: a program's turn on a busy machine. */
#define PATIENCE_NS 200000000u

static struct fabric_lock rx_lock;
static _Thread_local __attribute__((tls_model("initial-exec"))) unsigned int rx_depth;
/* Under the lock: queues with completions to write, and those that ran dry a moment ago. */
static struct hca_wq *pending, *starving;

/* ---- batches ---- */

static void write_pending(struct hca_wq *wq)
{
	hca_cq_add_many(wq->cq, wq->cqe, wq->pending);
	wq->pending = 0;
}

static void write_all(void)
{
	struct hca_wq *wq;

	while ((wq = pending)) {
		pending = wq->pending_next;
		write_pending(wq);
	}
}

void hca_rx_begin(void)
{
	if (!rx_depth++)
		fabric_lock(&rx_lock);
}

void hca_rx_end(void)
{
	if (--rx_depth)
		return;
	write_all();
	fabric_unlock(&rx_lock);
}

void hca_rx_forked(void)
{
	rx_lock = (struct fabric_lock){ 0 };
	rx_depth = 0;
	pending = starving = NULL;
}

static uint32_t posted(const struct hca_wq *wq)
{
	if (unlikely(wq->srq))
		return hca_srq_posted(wq->srq);
	return (wq->format->rq_producer(&wq->ring) - wq->taken) & 0xffff;
}

/* A place for a completion in the batch. */
static struct hca_cqe *add_completion(struct hca_wq *wq)
{
	struct hca_cqe *cqe;

	if (wq->pending == HCA_WQ_BATCH) {
		hca_cq_add_many(wq->cq, wq->cqe, wq->pending);
		wq->pending = 0;
	} else if (!wq->pending) {
		wq->pending_next = pending;
		pending = wq;
	}
	cqe = &wq->cqe[wq->pending++];
	*cqe = (struct hca_cqe){ .is_recv = true,
				 .raw = true,
				 .qpn = wq->wqn,
				 .user_index = wq->user_index,
				 .counter = wq->taken };
	return cqe;
}

static void forget_in(struct hca_wq **list, const struct hca_wq *wq, bool is_pending)
{
	while (*list) {
		struct hca_wq **next =
			is_pending ? &(*list)->pending_next : &(*list)->starving_next;

		if (*list == wq) {
			*list = *next;
			return;
		}
		list = next;
	}
}

static void feed(struct hca_wq *wq)
{
	if (!wq->starved)
		return;
	wq->starved = 0;
	forget_in(&starving, wq, false);
}

static void starve(struct hca_wq *wq)
{
	if (wq->starved)
		return;
	wq->starved = fabric_now_ns();
	wq->starving_next = starving;
	starving = wq;
}

bool hca_rx_is_starved(void)
{
	struct hca_wq *wq, *next;
	uint64_t now;

	if (likely(!starving))
		return false;
	/* The program can only take entries back that it has heard of. */
	write_all();
	now = fabric_now_ns();
	for (wq = starving; wq; wq = next) {
		next = wq->starving_next;
		if (wq->state != HCA_WQS_RDY || posted(wq)) {
			feed(wq);
		} else if (now - wq->starved > PATIENCE_NS) {
			/* It stays marked, so that it waits no second time before it is fed. */
			forget_in(&starving, wq, false);
		} else {
			return true;
		}
	}
	return false;
}

/* ---- flushing ---- */

/* What is posted to a shared queue is still everybody's. */
static void flush(struct hca_wq *wq)
{
	while (!wq->srq && posted(wq)) {
		struct hca_cqe *cqe = add_completion(wq);

		cqe->raw = false;
		cqe->status = HCA_WR_FLUSH_ERR;
		cqe->vendor = SYN_FLUSH;
		wq->taken++;
	}
	wq->stride = 0;
}

static void fail(struct hca_wq *wq, uint32_t counter, enum hca_status status, uint8_t vendor)
{
	struct hca_cqe *cqe = add_completion(wq);

	cqe->raw = false;
	cqe->counter = counter;
	cqe->status = status;
	cqe->vendor = vendor;
	wq->taken++;
	__atomic_store_n(&wq->state, HCA_WQS_ERR, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_seq_cst); /* [Q1] */
	flush(wq);
	if (wq->user)
		hca_async_post(wq->pd->ctx->async, HCA_EVENT_WQ_FATAL, wq->user);
}

void hca_wq_flush_posted(struct hca_wq *wq)
{
	hca_rx_begin();
	if (wq->state == HCA_WQS_ERR)
		flush(wq);
	hca_rx_end();
}

/* ---- receiving ---- */

/* A frame as it goes into memory: without the tag that is stripped, with an FCS if wanted. */
struct pieces {
	const uint8_t *part[3];
	uint32_t len[3];
	uint32_t total;
	uint8_t fcs[FCS_BYTES];
};

static bool strip(const struct hca_wq *wq, const struct ether_frame *f)
{
	return wq->flags & HCA_WQF_CVLAN_STRIPPING && !f->has_vlan &&
	       f->len >= ETHER_HEADER + VLAN_BYTES && f->data[12] == 0x81 && f->data[13] == 0;
}

static void cut(const struct hca_wq *wq, struct ether_frame *f, struct pieces *p)
{
	p->part[0] = f->data;
	p->len[0] = f->len;
	p->len[1] = p->len[2] = 0;
	if (unlikely(strip(wq, f))) {
		p->len[0] = 12;
		p->part[1] = f->data + 12 + VLAN_BYTES;
		p->len[1] = f->len - 12 - VLAN_BYTES;
	}
	if (unlikely(wq->flags & HCA_WQF_SCATTER_FCS)) {
		uint32_t fcs = ether_fcs(f->data, f->len);

		for (unsigned int i = 0; i < FCS_BYTES; i++)
			p->fcs[i] = fcs >> 8 * i;
		p->part[2] = p->fcs;
		p->len[2] = FCS_BYTES;
	}
	p->total = p->len[0] + p->len[1] + p->len[2];
}

static bool copy(const struct hca_list *to, uint64_t off, const struct pieces *p)
{
	for (int i = 0; i < 3; i++) {
		if (p->len[i] && !hca_mem_copy_in(to, off, p->part[i], p->len[i]))
			return false;
		off += p->len[i];
	}
	return true;
}

static void describe(const struct hca_wq *wq, struct ether_frame *f, struct hca_frame_info *info)
{
	const struct ether_parsed *parsed = ether_frame_parse(f);
	const struct ether_headers *h = &parsed->outer;

	info->check = ether_check(f);
	info->l3 = h->l3;
	info->l4 = h->l4;
	info->fragment = h->fragment;
	info->options = (h->l3 == ETHER_L3_IPV4 && h->l4_off - h->l3_off > 20) ||
			(h->l3 == ETHER_L3_IPV6 && h->l4_off - h->l3_off > 40);
	if (h->l4 == ETHER_L4_TCP)
		info->tcp = !(f->data[h->l4_off + 13] & 0x10)     ? 1
			    : h->data_off - h->l3_off < h->l3_len ? 3
								  : 2;
	info->has_vlan = f->has_vlan;
	info->vlan_tci = f->vlan_tci;
	if (strip(wq, f)) {
		info->has_vlan = true;
		info->vlan_tci = (uint16_t)(f->data[14] << 8 | f->data[15]);
	}
	info->tag = f->tag & 0xffffff;
	info->rss_hash = f->rss_hash;
	info->rss_fields = f->rss_fields;
}

/* False: another queue has taken the last entry of a shared one. */
static bool take_entry(const struct hca_wq *wq, struct hca_recv *recv)
{
	if (unlikely(wq->srq))
		return hca_srq_take(wq->srq, recv);
	wq->format->rq_decode(&wq->ring, wq->taken, recv);
	return true;
}

static bool resolve(const struct hca_wq *wq, struct hca_list *list, struct hca_recv *recv)
{
	return hca_mem_resolve(recv->sge, recv->sge_count, wq->pd->pdn, HCA_ACCESS_LOCAL_WRITE,
			       list);
}

static void drop_frame(struct hca_wq *wq)
{
	wq->dropped++;
	hca_count(wq->counters, HCA_COUNT_OUT_OF_BUFFER);
}

static void receive_plain(struct hca_wq *wq, struct ether_frame *f, const struct pieces *p)
{
	struct hca_recv recv;
	struct hca_list list;
	struct hca_cqe *cqe;

	if (unlikely(!take_entry(wq, &recv))) {
		drop_frame(wq);
		return;
	}
	if (unlikely(!resolve(wq, &list, &recv) ||
		     (list.total >= p->total && !copy(&list, 0, p)))) {
		fail(wq, recv.counter, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		return;
	}
	if (unlikely(list.total < p->total)) {
		fail(wq, recv.counter, HCA_LOC_LEN_ERR, SYN_LENGTH);
		return;
	}
	cqe = add_completion(wq);
	cqe->counter = recv.counter;
	cqe->byte_len = p->total;
	describe(wq, f, &cqe->frame);
	wq->taken++;
}

/* The rest of the entry is too short for the frame: it is given up, and the next one begins. */
static void skip_strides(struct hca_wq *wq, uint32_t left)
{
	struct hca_cqe *cqe = add_completion(wq);

	cqe->counter = wq->stride;
	cqe->frame.strides = left;
	cqe->frame.entry = wq->taken;
	cqe->frame.filler = true;
	wq->taken++;
	wq->stride = 0;
}

static void receive_strides(struct hca_wq *wq, struct ether_frame *f, const struct pieces *p)
{
	uint32_t all = 1u << wq->strides_shift, shift = wq->two_byte_shift ? 2 : 0;
	uint32_t need = (p->total + shift + (1u << wq->stride_shift) - 1) >> wq->stride_shift;
	uint64_t off;
	struct hca_recv recv;
	struct hca_list list;
	struct hca_cqe *cqe;

	if (unlikely(need > all)) {
		fail(wq, wq->taken, HCA_LOC_LEN_ERR, SYN_LENGTH);
		return;
	}
	if (all - wq->stride < need) {
		skip_strides(wq, all - wq->stride);
		if (!posted(wq)) {
			drop_frame(wq);
			starve(wq);
			return;
		}
	}
	off = ((uint64_t)wq->stride << wq->stride_shift) + shift;
	take_entry(wq, &recv);
	if (unlikely(!resolve(wq, &list, &recv) || list.total < off + p->total ||
		     !copy(&list, off, p))) {
		fail(wq, wq->taken, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		return;
	}
	cqe = add_completion(wq);
	describe(wq, f, &cqe->frame);
	cqe->counter = wq->stride;
	cqe->byte_len = p->total;
	cqe->frame.strides = need;
	cqe->frame.entry = wq->taken;
	wq->stride += need;
	if (wq->stride == all) {
		wq->taken++;
		wq->stride = 0;
	}
}

/* A context does not hear its own frames from its own port, unless it asked to. */
static bool is_own_echo(const struct hca_wq *wq, const struct ether_frame *f)
{
	uint8_t kind = f->data[0] & 1 ? HCA_SELF_LB_MULTICAST : HCA_SELF_LB_UNICAST;

	return f->src_domain == wq->pd->ctx->domain && f->src_process == fabric_self() &&
	       wq->pd->ctx->adapter->model->driver == HCA_DRIVER_MLX5 && !(wq->self_lb & kind);
}

void hca_wq_receive(struct hca_wq *wq, struct ether_frame *frame)
{
	struct pieces p;

	if (unlikely(wq->state != HCA_WQS_RDY || is_own_echo(wq, frame)))
		return;
	if (unlikely(!posted(wq))) {
		drop_frame(wq);
		return;
	}
	feed(wq);
	wq->received++;
	cut(wq, frame, &p);
	if (unlikely(wq->strides_shift))
		receive_strides(wq, frame, &p);
	else
		receive_plain(wq, frame, &p);
	if (unlikely(!posted(wq)) && wq->state == HCA_WQS_RDY)
		starve(wq);
}

static void deliver(struct ether_dest *dest, struct ether_frame *frame)
{
	hca_wq_receive(container_of(dest, struct hca_wq, dest), frame);
}

/* ---- states ---- */

static const char *state_name(enum hca_wq_state state)
{
	static const char *const names[] = { "RESET", "RDY", "ERR" };

	return names[state];
}

static int check_change(enum hca_wq_state from, enum hca_wq_state to)
{
	if (from == to || to == HCA_WQS_RESET || (from == HCA_WQS_RESET && to == HCA_WQS_RDY) ||
	    (from == HCA_WQS_RDY && to == HCA_WQS_ERR))
		return 0;
	return explain(EINVAL, "a work queue does not go from %s to %s; it goes %s",
		       state_name(from), state_name(to), "RESET, RDY, ERR and back to RESET");
}

int hca_wq_modify(struct hca_wq *wq, enum hca_wq_state to)
{
	int err;

	epoch_enter();
	hca_rx_begin();
	err = check_change(wq->state, to);
	if (!err && wq->state != to) {
		feed(wq);
		__atomic_store_n(&wq->state, to, __ATOMIC_RELAXED);
		atomic_thread_fence(memory_order_seq_cst); /* [Q1] */
		if (to == HCA_WQS_ERR)
			flush(wq);
		else if (to == HCA_WQS_RESET)
			wq->taken = wq->stride = 0;
	}
	hca_rx_end();
	epoch_exit();
	return err;
}

enum hca_wq_state hca_wq_progress(struct hca_wq *wq, uint32_t *taken)
{
	enum hca_wq_state state;

	hca_rx_begin();
	state = wq->state;
	*taken = wq->taken;
	hca_rx_end();
	return state;
}

void hca_wq_set_counters(struct hca_wq *wq, struct hca_counters *counters)
{
	struct hca_counters *old;

	hca_rx_begin();
	old = wq->counters;
	wq->counters = hca_counters_get(counters);
	hca_rx_end();
	hca_counters_put(old);
}

void hca_wq_set_vlan_stripping(struct hca_wq *wq, bool on)
{
	hca_rx_begin();
	if (on)
		wq->flags |= HCA_WQF_CVLAN_STRIPPING;
	else
		wq->flags &= ~HCA_WQF_CVLAN_STRIPPING;
	hca_rx_end();
}

/* ---- life ---- */

void hca_wq_init(struct hca_wq *wq, const struct hca_wq_init *init)
{
	wq->dest.deliver = deliver;
	wq->pd = init->pd;
	wq->cq = init->cq;
	wq->format = init->format;
	wq->ring = init->ring;
	wq->srq = init->srq;
	wq->flags = init->flags;
	wq->stride_shift = init->stride_shift;
	wq->strides_shift = init->strides_shift;
	wq->two_byte_shift = init->two_byte_shift;
	wq->user_index = init->user_index;
	wq->user = init->user;
}

/* Nobody finds it any more; what still has it is in a batch, or waits in a list. */
void hca_wq_fini(struct hca_wq *wq)
{
	epoch_wait();
	hca_rx_begin();
	__atomic_store_n(&wq->state, HCA_WQS_RESET, __ATOMIC_RELAXED);
	forget_in(&starving, wq, false);
	forget_in(&pending, wq, true);
	hca_rx_end();
	hca_counters_put(wq->counters);
	wq->counters = NULL;
}

int hca_wq_create(const struct hca_wq_init *init, struct hca_wq **out)
{
	struct hca_ctx *ctx = init->pd->ctx;
	struct hca_wq *wq;
	int err = hca_ctx_take(ctx, HCA_KIND_WQ);

	if (err)
		return err;
	wq = calloc(1, sizeof(*wq));
	if (!wq) {
		err = -ENOMEM;
		goto drop;
	}
	hca_wq_init(wq, init);
	err = hca_qpn_reserve(&wq->wqn);
	if (err)
		goto free_wq;
	hca_pd_get(wq->pd);
	atomic_fetch_add(&wq->cq->users, 1);
	if (wq->srq)
		atomic_fetch_add(&wq->srq->users, 1);
	*out = wq;
	return 0;

free_wq:
	free(wq);
drop:
	hca_ctx_drop(ctx, HCA_KIND_WQ);
	return err;
}

int hca_wq_destroy(struct hca_wq *wq)
{
	struct hca_ctx *ctx = wq->pd->ctx;
	unsigned int users = atomic_load(&wq->dest.users);

	if (users)
		return explain(EBUSY, "work queue 0x%x is in %u indirection table entries or rules",
			       wq->wqn, users);
	hca_wq_fini(wq);
	if (wq->user)
		hca_async_forget(ctx->async, wq->user);
	hca_qpn_release(wq->wqn);
	atomic_fetch_sub(&wq->cq->users, 1);
	if (wq->srq)
		hca_srq_put(wq->srq);
	hca_pd_put(wq->pd);
	hca_ctx_drop(ctx, HCA_KIND_WQ);
	free(wq);
	return 0;
}
