/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Responder resources: the peer's reads, atomics, atomic writes and flushes, kept until newer ones
 * take their place. Responses leave in order, as fast as the carrier takes them; meanwhile the
 * responder executes later requests. Duplicates are answered from here: reads are executed again,
 * the others never (IBTA volume 1, 9.7.5.1.2 and 9.7.5.2). Lock held, inside an epoch section.
 */
#include "hca/transport/resource.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "hca/memory/atomic.h"
#include "hca/memory/mem.h"
#include "hca/memory/persist.h"
#include "hca/transport/answer.h"
#include "hca/transport/comp_cntr.h"
#include "hca/transport/egress.h"
#include "hca/transport/recv.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"

#define FREE 0xff

static struct resp_resource *at(const struct responder *r, uint32_t i)
{
	return &r->resource[i % RESP_RESOURCES];
}

static bool is_read(const struct resp_resource *res)
{
	return (res->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_READ_REQUEST;
}

static uint32_t read_packets(const struct qp *qp, uint32_t length)
{
	return length ? (length + qp->mtu - 1) / qp->mtu : 1;
}

void resource_reset(struct qp *qp)
{
	for (unsigned int i = 0; qp->resp.resource && i < RESP_RESOURCES; i++)
		qp->resp.resource[i] = (struct resp_resource){ .op = FREE };
}

/* Unanswered reads and atomics that the QP's attributes allow. */
static uint32_t most_waiting(const struct qp *qp)
{
	return qp->pub.type == HCA_QP_DCR ? RESP_RESOURCES : qp->attr.max_dest_rd_atomic;
}

/* Whether the peer may have one more outstanding; allocates the memory at first use. */
static enum fault check_room(struct qp *qp)
{
	struct responder *r = &qp->resp;
	uint32_t waiting = 0;

	if (!r->resource) {
		r->resource = malloc(RESP_RESOURCES * sizeof(*r->resource));
		if (!r->resource)
			return FAULT_LOCAL;
		resource_reset(qp);
	}
	for (uint32_t i = r->resource_first; i != r->resource_next; i++)
		waiting += at(r, i)->due && !at(r, i)->again;
	return waiting >= most_waiting(qp) ? FAULT_INVALID : FAULT_NONE;
}

/* The peer may have one more request with an answer of its own; an acknowledgement that is due leaves first. */
static enum fault make_room(struct qp *qp)
{
	if (!qp_answer_is_due(qp))
		answer_send_ack(qp);
	return check_room(qp);
}

static struct resp_resource *add(struct qp *qp, const struct roce_pkt *pkt, uint32_t packets)
{
	struct responder *r = &qp->resp;
	struct resp_resource *res;

	/* The slot may be of an old one that is being answered again. */
	while (r->resource_next - r->resource_first >= RESP_RESOURCES)
		at(r, r->resource_first++)->due = false;
	res = at(r, r->resource_next++);
	*res = (struct resp_resource){
		.psn = pkt->psn,
		.last_psn = psn_add(pkt->psn, packets - 1),
		.op = pkt->op,
		.due = true,
		.whole = pkt->flags & ROCE_PKT_ACK_REQ,
	};
	r->epsn = psn_add(r->epsn, packets);
	r->msn++;
	return res;
}

enum fault resource_read(struct qp *qp, const struct roce_pkt *pkt)
{
	struct resp_resource *res;
	enum fault f;

	if (!(qp_access(qp) & HCA_ACCESS_REMOTE_READ))
		return FAULT_INVALID;
	if (pkt->rdma.dma_len > HCA_MAX_MESSAGE)
		return FAULT_INVALID;
	if (pkt->rdma.dma_len &&
	    !hca_mem_find_here(pkt->rdma.rkey, recv_pdn(qp, pkt->rdma.srqn), qp->pub.qpn,
			       pkt->rdma.va, pkt->rdma.dma_len, HCA_ACCESS_REMOTE_READ))
		return FAULT_ACCESS;
	f = make_room(qp);
	if (f)
		return f;
	res = add(qp, pkt, read_packets(qp, pkt->rdma.dma_len));
	res->va = pkt->rdma.va;
	res->rkey = pkt->rdma.rkey;
	res->length = res->upto = pkt->rdma.dma_len;
	res->srqn = pkt->rdma.srqn;
	resource_continue(qp);
	return FAULT_NONE;
}

/* The `size` bytes at an address, for an atomic or, with the right to write, an atomic write. */
static enum fault find_target(const struct qp *qp, uint64_t va, uint32_t rkey, uint32_t srqn,
			      uint32_t size, uint32_t access, struct hca_seg *out)
{
	const struct hca_mr_entry *e;

	if (va & (size - 1) || !(qp_access(qp) & access))
		return FAULT_INVALID;
	e = hca_mem_find_here(rkey, recv_pdn(qp, srqn), qp->pub.qpn, va, size, access);
	if (!e || !hca_mem_target(e, va, size, out))
		return FAULT_ACCESS;
	/* With an iova the address in memory may be misaligned although the requested one is not. */
	return out->kind != HCA_SEG_SERVED && (uintptr_t)out->ptr & (size - 1) ? FAULT_INVALID
									       : FAULT_NONE;
}

static enum fault execute_atomic(struct qp *qp, const struct roce_pkt *pkt,
				 const struct hca_atomic *a, const struct hca_seg *target)
{
	enum fault f = make_room(qp);
	uint64_t old;

	if (f)
		return f;
	if (!hca_mem_atomic(target, a, &old))
		return FAULT_ACCESS;
	add(qp, pkt, 1)->orig = old;
	resource_continue(qp);
	return FAULT_NONE;
}

enum fault resource_atomic(struct qp *qp, const struct roce_pkt *pkt)
{
	bool add = (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_FETCH_ADD;
	struct hca_atomic a = hca_atomic_plain(add, pkt->atomic.compare, pkt->atomic.swap);
	struct hca_seg target;
	enum fault f = find_target(qp, pkt->atomic.va, pkt->atomic.rkey, pkt->atomic.srqn, a.size,
				   HCA_ACCESS_REMOTE_ATOMIC, &target);

	return f ? f : execute_atomic(qp, pkt, &a, &target);
}

/*
 * The operands are the payload (roce/packet.h); right, resource and answer are those of an atomic.
 */
enum fault resource_masked_atomic(struct qp *qp, const struct roce_pkt *pkt,
				  const struct hca_list *payload)
{
	bool add = pkt->len == ROCE_MASKED_ADD_BYTES;
	uint64_t words[4] = { 0 };
	struct hca_atomic a;
	struct hca_seg target;
	enum fault f;

	if ((pkt->rdma.dma_len != 4 && pkt->rdma.dma_len != 8) ||
	    (!add && pkt->len != ROCE_MASKED_SWAP_BYTES))
		return FAULT_INVALID;
	f = find_target(qp, pkt->rdma.va, pkt->rdma.rkey, pkt->rdma.srqn, pkt->rdma.dma_len,
			HCA_ACCESS_REMOTE_ATOMIC, &target);
	if (f)
		return f;
	if (!hca_mem_copy_out(payload, 0, words, pkt->len))
		return FAULT_LOCAL;
	a = (struct hca_atomic){
		.add = add,
		.size = (uint8_t)pkt->rdma.dma_len,
		.swap = be64toh(words[0]),
		.compare = be64toh(words[1]),
		.swap_mask = be64toh(words[2]),
		.compare_mask = be64toh(words[3]),
	};
	return execute_atomic(qp, pkt, &a, &target);
}

/*
 * 8 aligned bytes at once, behind all that came before (IBTA volume 1, A19). The right is that of a write,
 * the resource that of an atomic.
 */
enum fault resource_atomic_write(struct qp *qp, const struct roce_pkt *pkt,
				 const struct hca_list *payload)
{
	struct hca_seg target;
	uint64_t value;
	enum fault f;

	if (pkt->rdma.dma_len != 8 || pkt->len != 8)
		return FAULT_INVALID;
	f = find_target(qp, pkt->rdma.va, pkt->rdma.rkey, pkt->rdma.srqn, 8,
			HCA_ACCESS_REMOTE_WRITE, &target);
	if (f)
		return f;
	f = make_room(qp);
	if (f)
		return f;
	if (!hca_mem_copy_out(payload, 0, &value, 8))
		return FAULT_LOCAL;
	if (!hca_mem_store(&target, value))
		return FAULT_ACCESS;
	add(qp, pkt, 1);
	resource_continue(qp);
	return FAULT_NONE;
}

/*
 * Everything that the peer has written through this queue pair is in memory, where all processors see it,
 * when the packet behind it is executed: global visibility needs nothing more. Persistence is persist.c's.
 */
enum fault resource_flush(struct qp *qp, const struct roce_pkt *pkt)
{
	uint32_t access = qp_flush_access(pkt->rdma.feth), length = pkt->rdma.dma_len;
	bool region = (pkt->rdma.feth & ROCE_FETH_LEVEL_MASK) == ROCE_FETH_REGION;
	const struct hca_mr_entry *e;
	uint64_t va = pkt->rdma.va;
	enum fault f;

	if (!access ||
	    pkt->rdma.feth & ROCE_FETH_TYPES & ~(ROCE_FETH_GLOBAL | ROCE_FETH_PERSISTENT) ||
	    (pkt->rdma.feth & ROCE_FETH_LEVEL_MASK) > ROCE_FETH_REGION ||
	    (qp_access(qp) & access) != access)
		return FAULT_INVALID;
	e = region ? hca_mem_find_whole(pkt->rdma.rkey, recv_pdn(qp, pkt->rdma.srqn), qp->pub.qpn,
					access)
		   : hca_mem_find_here(pkt->rdma.rkey, recv_pdn(qp, pkt->rdma.srqn), qp->pub.qpn,
				       va, length, access);
	if (!e)
		return FAULT_ACCESS;
	f = make_room(qp);
	if (f)
		return f;
	if (access & HCA_ACCESS_FLUSH_PERSISTENT &&
	    !(region ? persist_flush(e, e->iova, e->length) : persist_flush(e, va, length)))
		return FAULT_LOCAL;
	add(qp, pkt, 1);
	resource_continue(qp);
	return FAULT_NONE;
}

/* ---- answers ---- */

/* A read fails after it was accepted: the NAK names its PSN. */
static void fail_read(struct qp *qp, uint32_t psn)
{
	qp->resp.resource_first = qp->resp.resource_next;
	if (qp->pub.state == HCA_QPS_ERR)
		return;
	qp->resp.epsn = psn;
	/* The receive of a message behind the read has nothing to do with it. */
	recv_complete_error(qp, HCA_WR_FLUSH_ERR, SYN_FLUSH);
	fault_handle(qp, FAULT_ACCESS, HCA_LOC_ACCESS_ERR);
}

static uint8_t read_opcode(const struct resp_resource *res, uint32_t n)
{
	bool first = res->sent == res->from, last = res->sent + n == res->upto;

	if (first)
		return last ? ROCE_PKT_READ_RESP_ONLY : ROCE_PKT_READ_RESP_FIRST;
	return last ? ROCE_PKT_READ_RESP_LAST : ROCE_PKT_READ_RESP_MIDDLE;
}

/* One packet of the response; rights are checked again for each. */
static int send_read_packet(struct qp *qp, struct resp_resource *res)
{
	uint32_t left = res->upto - res->sent, n = left > qp->mtu ? qp->mtu : left;
	struct roce_pkt pkt = {
		.op = (res->op & ROCE_PKT_TRANSPORT_MASK) | read_opcode(res, n),
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.psn = psn_add(res->psn, res->sent / qp->mtu),
		.len = n,
		.ack = { .syndrome = ROCE_SYN_ACK, .msn = qp->resp.msn & PSN_MASK },
	};
	const struct hca_mr_entry *e;
	struct hca_list list; /* not initialised: 2 KiB */
	int err = 0;

	list.count = 0;
	list.total = 0;
	if (n) {
		e = hca_mem_find_here(res->rkey, recv_pdn(qp, res->srqn), qp->pub.qpn,
				      res->va + res->sent, n, HCA_ACCESS_REMOTE_READ);
		if (e)
			hca_mem_piece(e, res->va + res->sent, n, &list);
		else
			err = -EFAULT;
	}
	if (!err)
		err = send_packet(qp, qp->peer, &pkt, &list, 0, NULL);
	sig_error_of_peer(qp);
	if (err == -EFAULT)
		fail_read(qp, pkt.psn);
	if (!err)
		res->sent += n;
	return err;
}

/* Atomics return a value; atomic writes and flushes are answered like a read of nothing (IBTA volume 1, A19). */
static int send_result(struct qp *qp, const struct resp_resource *res)
{
	uint8_t op = res->op & ROCE_PKT_OPCODE_MASK;
	bool atomic =
		op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD || op == ROCE_PKT_MASKED_ATOMIC;
	struct roce_pkt pkt = {
		.op = (res->op & ROCE_PKT_TRANSPORT_MASK) |
		      (atomic ? ROCE_PKT_ATOMIC_ACK : ROCE_PKT_READ_RESP_ONLY),
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.psn = res->psn,
		.ack = { .syndrome = ROCE_SYN_ACK,
			 .msn = qp->resp.msn & PSN_MASK,
			 .orig = res->orig },
	};

	return send_packet(qp, qp->peer, &pkt, NULL, 0, NULL);
}

bool resource_send(struct qp *qp)
{
	struct responder *r = &qp->resp;

	/* In ERR responses are dropped, unless a NAK that follows them still has to leave. */
	if (qp->pub.state == HCA_QPS_ERR && !r->nak_due)
		r->resource_first = r->resource_next;
	while (qp_answer_is_due(qp)) {
		struct resp_resource *res = at(r, r->resource_first);
		int err = 0;

		if (res->due && is_read(res)) {
			do
				err = send_read_packet(qp, res);
			while (!err && res->sent < res->upto);
		} else if (res->due) {
			err = send_result(qp, res);
		}
		if (err)
			return !qp_answer_is_due(qp); /* no room, or the read failed */
		if (unlikely(qp->cntr) && res->due && is_read(res) && !res->again)
			comp_cntr_read(qp, res->whole, res->length);
		res->due = false;
		r->resource_first++;
	}
	return true;
}

/* ---- duplicates ---- */

static uint32_t find(const struct responder *r, const struct roce_pkt *pkt)
{
	uint32_t i;

	for (i = 1; r->resource && i <= RESP_RESOURCES; i++) {
		const struct resp_resource *res = at(r, r->resource_next - i);

		if (res->op == pkt->op && psn_diff(pkt->psn, res->psn) >= 0 &&
		    psn_diff(pkt->psn, res->last_psn) <= 0)
			return r->resource_next - i;
	}
	return r->resource_next;
}

/* A duplicate must lie within the original request. */
static bool read_again(const struct qp *qp, struct resp_resource *res, const struct roce_pkt *pkt)
{
	uint32_t offset = (uint32_t)psn_diff(pkt->psn, res->psn) * qp->mtu;

	if (pkt->rdma.va != res->va + offset || pkt->rdma.rkey != res->rkey ||
	    pkt->rdma.dma_len > res->length - offset)
		return false;
	res->from = res->sent = offset;
	res->upto = offset + pkt->rdma.dma_len;
	return true;
}

void resource_again(struct qp *qp, const struct roce_pkt *pkt)
{
	struct responder *r = &qp->resp;
	uint32_t i = find(r, pkt);
	struct resp_resource *res;

	if (i == r->resource_next)
		return; /* older than any request that the peer may repeat */
	res = at(r, i);
	/* Its response waits already. */
	if (res->due && i != r->resource_first)
		return;
	if (is_read(res) && !read_again(qp, res, pkt))
		return;
	res->due = res->again = true;
	if ((int32_t)(i - r->resource_first) < 0)
		r->resource_first = i;
	resource_continue(qp);
}

void resource_continue(struct qp *qp)
{
	if (likely(!qp_answer_is_due(qp)) || !resource_send(qp))
		return;
	answer_send_ack(qp);
}
