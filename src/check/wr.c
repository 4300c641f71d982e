/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch goes from ibv_wr_start(), which takes the lock of the queue pair, to ibv_wr_complete() or
 * ibv_wr_abort(). Its requests are counted at once, and taken back when the batch fails.
 */
#include "check/wr.h"

#include <errno.h>

#include "check/adversary.h"
#include "check/buffer.h"
#include "check/order.h"
#include "check/post.h"
#include "check/retired.h"
#include "check/state.h"
#include "check/thread.h"

static struct check_qp *watch_of(struct ibv_qp_ex *qp)
{
	return to_qp(&qp->qp_base)->watch;
}

/* Notes a request; its buffers are set later. */
static void note(struct check_qp *q, const struct ibv_qp_ex *qp, const char *verb, bool target)
{
	struct check_request *r = q->lost ? NULL : check_ring_next(&q->send);

	if (!r) {
		q->lost = true;
		return;
	}
	*r = (struct check_request){ .wr_id = qp->wr_id,
				     .place = q->batch_place,
				     .verb = verb,
				     .signaled = q->sig_all || qp->wr_flags & IBV_SEND_SIGNALED,
				     .target = target,
				     .fenced = qp->wr_flags & IBV_SEND_FENCE };
	check_post_count(&q->send, q->send_cq);
	if (target)
		q->reads_end = q->send.head;
}

/* The request that was noted last is a read or a write. */
static void note_remote(struct check_qp *q, uint32_t rkey, uint64_t addr)
{
	struct check_request *r;

	if (q->lost)
		return;
	r = check_ring_at(&q->send, q->send.head - 1);
	r->remote = addr;
	r->rkey = rkey;
	r->is_remote = true;
}

static void set_length(struct check_request *r, const struct ibv_sge *list, size_t count)
{
	for (size_t i = 0; r->is_remote && i < count; i++)
		r->length += list[i].length;
}

static void set_pieces(struct check_qp *q, const struct ibv_sge *list, size_t count)
{
	struct check_request *r;

	if (q->lost || q->send.head == q->batch)
		return;
	r = check_ring_at(&q->send, q->send.head - 1);
	set_length(r, list, count);
	check_buffer_post(r, list, (int)count,
			  &(struct check_use){ q->pd, r->target, true, &q->send_region },
			  q->alive && !r->target);
	check_order_send(q, r, q->send.head - 1, false);
}

static void set_inline(struct check_qp *q, const struct ibv_data_buf *list, size_t count)
{
	struct check_request *r;
	uint64_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += list[i].length;
	check_post_inline(q, length, q->batch_place);
	if (q->lost || q->send.head == q->batch)
		return;
	r = check_ring_at(&q->send, q->send.head - 1);
	r->length = r->is_remote ? length : 0;
	for (size_t i = 0; i < count; i++)
		check_order_inline(
			r,
			&(struct ibv_sge){ (uintptr_t)list[i].addr, (uint32_t)list[i].length, 0 },
			1);
	check_order_send(q, r, q->send.head - 1, true);
}

static void wr_start(struct ibv_qp_ex *qp)
{
	const struct check_place *place = check_place_of_caller();
	struct check_qp *q = watch_of(qp);
	bool begun = check_td_begin(q->td, place);

	check_adversary_post(q->qp->hca);

	pthread_mutex_lock(&q->lock);
	q->batch = q->send.head;
	q->batch_place = place;
	q->batch_in_td = begun;
	q->driver.wr_start(qp);
}

static void give_up(struct check_qp *q)
{
	if (!q->lost)
		check_post_undo(&q->send, q->send_cq, q->batch);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct check_qp *q = watch_of(qp);
	const struct check_place *place = q->batch_place;
	bool full = false;
	int err = q->driver.wr_complete(qp);

	atomic_fetch_add_explicit(&check.posts, q->send.head - q->batch, memory_order_relaxed);
	if (err)
		give_up(q);
	for (uint32_t i = q->batch; !q->lost && (int32_t)(q->send.head - i) > 0; i++)
		q->unsignaled = check_ring_at(&q->send, i)->signaled ? 0 : q->unsignaled + 1;
	if (!q->lost)
		full = err == ENOMEM && q->unsignaled &&
		       q->unsignaled == q->send.head - q->send.tail;
	check_td_end(q->td, q->batch_in_td);
	pthread_mutex_unlock(&q->lock);
	if (full)
		check_post_full(q, place);
	check_post_cq(q->send_cq, place);
	return err;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	struct check_qp *q = watch_of(qp);

	q->driver.wr_abort(qp);
	give_up(q);
	check_td_end(q->td, q->batch_in_td);
	pthread_mutex_unlock(&q->lock);
}

static void wr_send(struct ibv_qp_ex *qp)
{
	note(watch_of(qp), qp, "SEND", false);
	watch_of(qp)->driver.wr_send(qp);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	note(watch_of(qp), qp, "SEND", false);
	watch_of(qp)->driver.wr_send_imm(qp, imm);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	note(watch_of(qp), qp, "SEND", false);
	watch_of(qp)->driver.wr_send_inv(qp, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	note(watch_of(qp), qp, "RDMA WRITE", false);
	note_remote(watch_of(qp), rkey, addr);
	watch_of(qp)->driver.wr_rdma_write(qp, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	note(watch_of(qp), qp, "RDMA WRITE", false);
	note_remote(watch_of(qp), rkey, addr);
	watch_of(qp)->driver.wr_rdma_write_imm(qp, rkey, addr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	note(watch_of(qp), qp, "RDMA READ", true);
	note_remote(watch_of(qp), rkey, addr);
	watch_of(qp)->driver.wr_rdma_read(qp, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	note(watch_of(qp), qp, "ATOMIC", true);
	watch_of(qp)->driver.wr_atomic_cmp_swp(qp, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	note(watch_of(qp), qp, "ATOMIC", true);
	watch_of(qp)->driver.wr_atomic_fetch_add(qp, rkey, addr, add);
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	note(watch_of(qp), qp, "BIND MW", false);
	watch_of(qp)->driver.wr_bind_mw(qp, mw, rkey, info);
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	note(watch_of(qp), qp, "LOCAL INVALIDATE", false);
	watch_of(qp)->driver.wr_local_inv(qp, rkey);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, const void *value)
{
	note(watch_of(qp), qp, "ATOMIC WRITE", false);
	watch_of(qp)->driver.wr_atomic_write(qp, rkey, addr, value);
}

static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
		     uint8_t level)
{
	note(watch_of(qp), qp, "FLUSH", false);
	watch_of(qp)->driver.wr_flush(qp, rkey, addr, len, type, level);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	atomic_fetch_add_explicit(&check.datagrams, 1, memory_order_relaxed);
	check_ah_retired(ah);
	watch_of(qp)->driver.wr_set_ud_addr(qp, ah, qpn, qkey);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	set_pieces(watch_of(qp), &(struct ibv_sge){ addr, length, lkey }, 1);
	watch_of(qp)->driver.wr_set_sge(qp, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
	set_pieces(watch_of(qp), list, count);
	watch_of(qp)->driver.wr_set_sge_list(qp, count, list);
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	set_inline(watch_of(qp), &(struct ibv_data_buf){ addr, length }, 1);
	watch_of(qp)->driver.wr_set_inline_data(qp, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t count,
				    const struct ibv_data_buf *list)
{
	set_inline(watch_of(qp), list, count);
	watch_of(qp)->driver.wr_set_inline_data_list(qp, count, list);
}

void check_wr_wrap(struct check_qp *q)
{
	struct ibv_qp_ex *qp = &q->qp->ex;

	q->driver = *qp;
#define WRAP(name)                                                                                 \
	do {                                                                                       \
		if (qp->name)                                                                      \
			qp->name = name;                                                           \
	} while (0)
	WRAP(wr_start);
	WRAP(wr_complete);
	WRAP(wr_abort);
	WRAP(wr_send);
	WRAP(wr_send_imm);
	WRAP(wr_send_inv);
	WRAP(wr_rdma_write);
	WRAP(wr_rdma_write_imm);
	WRAP(wr_rdma_read);
	WRAP(wr_atomic_cmp_swp);
	WRAP(wr_atomic_fetch_add);
	WRAP(wr_bind_mw);
	WRAP(wr_local_inv);
	WRAP(wr_atomic_write);
	WRAP(wr_flush);
	WRAP(wr_set_ud_addr);
	WRAP(wr_set_sge);
	WRAP(wr_set_sge_list);
	WRAP(wr_set_inline_data);
	WRAP(wr_set_inline_data_list);
#undef WRAP
}
