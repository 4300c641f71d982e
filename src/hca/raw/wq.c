/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: creation, states and receiving. Locks: wq.h.
 *
 *	RESET -> RDY -> ERR -> RESET, RDY -> RESET	hca_wq_modify()
 *	RDY -> ERR					fail(): an entry cannot take its frame
 */
#include "hca/raw/wq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/offload.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "hca/device/qpn.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/queue/srq.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "util/explain.h"

#define FCS_BYTES  4u
#define VLAN_BYTES 4u
/* An empty queue pauses the receive path no longer: about a time slice on a busy host. */
#define PAUSE_MAX_NS 200000000u

/* ---- batches ---- */

static void write_completions(struct hca_wq *wq)
{
	hca_cq_add_many(wq->cq, wq->cqe, wq->pending);
	wq->pending = 0;
}

static void write_all_completions(void)
{
	struct hca_wq *wq;

	while ((wq = LIST_FIRST(&hca.raw.wq.pending))) {
		LIST_REMOVE(wq, pending_entry);
		write_completions(wq);
	}
}

/* Only the owner itself finds its own id there, so the load needs no order. */
void wq_rx_begin(void)
{
	struct wq_state *rx = &hca.raw.wq;
	pthread_t self = pthread_self();

	if (atomic_load_explicit(&rx->owner, memory_order_relaxed) != self) {
		fabric_lock(&rx->lock);
		atomic_store_explicit(&rx->owner, self, memory_order_relaxed);
	}
	rx->depth++;
}

void wq_rx_end(void)
{
	struct wq_state *rx = &hca.raw.wq;

	if (--rx->depth)
		return;
	write_all_completions();
	atomic_store_explicit(&rx->owner, 0, memory_order_relaxed);
	fabric_unlock(&rx->lock);
}

static uint32_t posted(const struct hca_wq *wq)
{
	if (unlikely(wq->srq))
		return hca_srq_posted(wq->srq);
	return (wq->format->rq_producer(&wq->ring) - wq->taken) & 0xffff;
}

/* A completion of the batch, to be filled in. */
static struct hca_cqe *add_completion(struct hca_wq *wq)
{
	struct hca_cqe *cqe;

	if (wq->pending == HCA_WQ_BATCH)
		write_completions(wq);
	else if (!wq->pending)
		LIST_INSERT_HEAD(&hca.raw.wq.pending, wq, pending_entry);
	cqe = &wq->cqe[wq->pending++];
	*cqe = (struct hca_cqe){ .is_recv = true,
				 .raw = true,
				 .qpn = wq->wqn,
				 .user_index = wq->user_index,
				 .counter = wq->taken };
	return cqe;
}

/* ---- pausing ---- */

static void stop_pausing(struct hca_wq *wq)
{
	/* The queues of its parent are not in the list of a forked child. */
	if (wq->is_pausing && hca_ctx_is_here(wq->pd->ctx))
		LIST_REMOVE(wq, pausing_entry);
	wq->is_pausing = false;
}

/* The queue has an entry, or needs none. */
static void mark_filled(struct hca_wq *wq)
{
	if (likely(!wq->empty_since_ns))
		return;
	wq->empty_since_ns = 0;
	stop_pausing(wq);
}

/* The queue pauses the receive path, unless it has done so since it was last filled. */
static void mark_empty(struct hca_wq *wq)
{
	if (wq->empty_since_ns)
		return;
	wq->empty_since_ns = fabric_now_ns();
	LIST_INSERT_HEAD(&hca.raw.wq.pausing, wq, pausing_entry);
	wq->is_pausing = true;
}

bool wq_rx_is_paused(void)
{
	struct hca_wq *wq, *next;
	uint64_t now;

	if (likely(LIST_EMPTY(&hca.raw.wq.pausing)))
		return false;
	/* The program posts entries again only after it has seen their completions. */
	write_all_completions();
	now = fabric_now_ns();
	for (wq = LIST_FIRST(&hca.raw.wq.pausing); wq; wq = next) {
		next = LIST_NEXT(wq, pausing_entry);
		if (wq->state != HCA_WQS_RDY || posted(wq))
			mark_filled(wq);
		else if (now - wq->empty_since_ns > PAUSE_MAX_NS)
			stop_pausing(wq);
		else
			return true;
	}
	return false;
}

/* ---- flushing ---- */

/* Entries of an SRQ stay: other queues take them, too. */
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

static void enter_error(struct hca_wq *wq)
{
	__atomic_store_n(&wq->state, HCA_WQS_ERR, __ATOMIC_RELAXED);
	/* [WQ1] pairs with hca_wq_doorbell() */
	atomic_thread_fence(memory_order_seq_cst);
	flush(wq);
}

static void fail(struct hca_wq *wq, uint32_t counter, enum hca_status status, uint8_t vendor)
{
	struct hca_cqe *cqe = add_completion(wq);

	cqe->raw = false;
	cqe->counter = counter;
	cqe->status = status;
	cqe->vendor = vendor;
	wq->taken++;
	enter_error(wq);
	if (wq->user)
		hca_async_post(wq->pd->ctx->async, HCA_EVENT_WQ_FATAL, wq->user);
}

void hca_wq_flush_posted(struct hca_wq *wq)
{
	wq_rx_begin();
	if (wq->state == HCA_WQS_ERR)
		flush(wq);
	wq_rx_end();
}

/* ---- receiving ---- */

/* A frame as it goes into memory: without a stripped VLAN tag, with an FCS if the queue wants it. */
struct frame_parts {
	const uint8_t *part[3];
	uint32_t len[3];
	uint32_t total;
	uint8_t fcs[FCS_BYTES];
};

static bool strips_vlan(const struct hca_wq *wq, const struct ether_frame *f)
{
	return wq->flags & HCA_WQF_CVLAN_STRIPPING && !f->has_vlan &&
	       f->len >= ETHER_HEADER + VLAN_BYTES && f->data[12] == 0x81 && f->data[13] == 0;
}

static void split(const struct hca_wq *wq, struct ether_frame *f, struct frame_parts *p)
{
	p->part[0] = f->data;
	p->len[0] = f->len;
	p->len[1] = p->len[2] = 0;
	if (unlikely(strips_vlan(wq, f))) {
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

static bool scatter(const struct hca_list *to, uint64_t off, const struct frame_parts *p)
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
	if (strips_vlan(wq, f)) {
		info->has_vlan = true;
		info->vlan_tci = (uint16_t)(f->data[14] << 8 | f->data[15]);
	}
	info->tag = f->tag & 0xffffff;
	info->rss_hash = f->rss_hash;
	info->rss_fields = f->rss_fields;
}

/* False: another queue has taken the last entry of the SRQ. */
static bool take_entry(const struct hca_wq *wq, struct hca_recv *recv)
{
	if (unlikely(wq->srq))
		return hca_srq_take(wq->srq, recv);
	wq->format->rq_decode(&wq->ring, wq->taken, recv);
	return true;
}

/* The first `len` bytes of an entry. */
static bool resolve(const struct hca_wq *wq, struct hca_list *list, const struct hca_recv *recv,
		    uint64_t len)
{
	return hca_mem_resolve_first(recv->sge, recv->sge_count, wq->pd->pdn,
				     HCA_ACCESS_LOCAL_WRITE, len, list);
}

static void drop_frame(struct hca_wq *wq)
{
	wq->dropped++;
	hca_count(wq->counters, HCA_COUNT_OUT_OF_BUFFER);
}

static void receive_plain(struct hca_wq *wq, struct ether_frame *f, const struct frame_parts *p)
{
	struct hca_recv recv;
	struct hca_list list;
	struct hca_cqe *cqe;

	if (unlikely(!take_entry(wq, &recv))) {
		drop_frame(wq);
		return;
	}
	if (unlikely(!resolve(wq, &list, &recv, p->total) ||
		     (list.total >= p->total && !scatter(&list, 0, p)))) {
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

/* The entry's remaining strides are too few for the frame: a filler completion ends the entry. */
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

static void receive_strides(struct hca_wq *wq, struct ether_frame *f, const struct frame_parts *p)
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
			mark_empty(wq);
			return;
		}
	}
	off = ((uint64_t)wq->stride << wq->stride_shift) + shift;
	take_entry(wq, &recv);
	if (unlikely(!resolve(wq, &list, &recv, off + p->total) || list.total < off + p->total ||
		     !scatter(&list, off, p))) {
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

/* True for a frame of the queue's own context that loopback blocking keeps out (mlx5 only). */
static bool is_own_echo(const struct hca_wq *wq, const struct ether_frame *f, uint8_t self_lb)
{
	uint8_t kind = f->data[0] & 1 ? HCA_SELF_LB_MULTICAST : HCA_SELF_LB_UNICAST;

	return f->src_domain == wq->pd->ctx->domain && f->src_process == fabric_self() &&
	       wq->pd->ctx->adapter->model->driver == HCA_DRIVER_MLX5 && !(self_lb & kind);
}

void hca_wq_receive(struct hca_wq *wq, struct ether_frame *frame, uint8_t self_lb)
{
	struct frame_parts p;

	if (unlikely(wq->state != HCA_WQS_RDY || is_own_echo(wq, frame, self_lb)))
		return;
	if (unlikely(!posted(wq))) {
		drop_frame(wq);
		return;
	}
	mark_filled(wq);
	wq->received++;
	split(wq, frame, &p);
	if (unlikely(wq->strides_shift))
		receive_strides(wq, frame, &p);
	else
		receive_plain(wq, frame, &p);
	sig_error_of_frame(wq->cq, wq->wqn, wq->user_index);
	if (unlikely(!posted(wq)) && wq->state == HCA_WQS_RDY)
		mark_empty(wq);
}

static void deliver(struct ether_dest *dest, struct ether_frame *frame)
{
	struct hca_wq *wq = container_of(dest, struct hca_wq, dest);

	hca_wq_receive(wq, frame, wq->self_lb);
}

/* ---- states ---- */

static const char *state_name(enum hca_wq_state state)
{
	static const char *const names[] = { "RESET", "RDY", "ERR" };

	return names[state];
}

static int check_transition(enum hca_wq_state from, enum hca_wq_state to)
{
	if (from == to || to == HCA_WQS_RESET || (from == HCA_WQS_RESET && to == HCA_WQS_RDY) ||
	    (from == HCA_WQS_RDY && to == HCA_WQS_ERR))
		return 0;
	return explain(EINVAL,
		       "a work queue cannot change from %s to %s; the order is RESET, RDY, ERR, "
		       "and RESET from any state",
		       state_name(from), state_name(to));
}

int hca_wq_modify(struct hca_wq *wq, enum hca_wq_state to)
{
	int err;

	epoch_enter();
	wq_rx_begin();
	err = check_transition(wq->state, to);
	if (!err && wq->state != to) {
		mark_filled(wq);
		if (to == HCA_WQS_ERR)
			enter_error(wq);
		else
			__atomic_store_n(&wq->state, to, __ATOMIC_RELAXED);
		if (to == HCA_WQS_RESET)
			wq->taken = wq->stride = 0;
	}
	wq_rx_end();
	epoch_exit();
	return err;
}

enum hca_wq_state hca_wq_progress(struct hca_wq *wq, uint32_t *taken)
{
	enum hca_wq_state state;

	wq_rx_begin();
	state = wq->state;
	*taken = wq->taken;
	wq_rx_end();
	return state;
}

void hca_wq_set_counters(struct hca_wq *wq, struct hca_counters *counters)
{
	struct hca_counters *old;

	wq_rx_begin();
	old = wq->counters;
	wq->counters = hca_counters_get(counters);
	wq_rx_end();
	hca_counters_put(old);
}

void hca_wq_set_vlan_stripping(struct hca_wq *wq, bool on)
{
	wq_rx_begin();
	if (on)
		wq->flags |= HCA_WQF_CVLAN_STRIPPING;
	else
		wq->flags &= ~HCA_WQF_CVLAN_STRIPPING;
	wq_rx_end();
}

/* ---- creation and destruction ---- */

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

/* No rule and no table leads to the queue: after epoch_wait() no batch uses it. */
void hca_wq_fini(struct hca_wq *wq)
{
	epoch_wait();
	wq_rx_begin();
	__atomic_store_n(&wq->state, HCA_WQS_RESET, __ATOMIC_RELAXED);
	stop_pausing(wq);
	wq_rx_end();
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
		goto uncount;
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
uncount:
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
