/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw packet queue pairs. The receive side is a work queue (wq.c) that follows the QP's state, or a
 * hash over several (rss.c). The send side makes one frame of a request, or several (TSO), inserts
 * VLAN tag and checksums, applies egress rules, and hands the frame to the virtual switch.
 */
#include "hca/raw/raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/offload.h"
#include "ether/port.h"
#include "ether/steer.h"
#include "fabric/directory.h"
#include "hca/device/model.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/raw/rss.h"
#include "hca/raw/aso_access.h"
#include "hca/raw/vswitch.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "util/explain.h"

#define VLAN_BYTES    4u
#define TSO_MAX       (256u << 10)
#define PACE_SLACK_NS 2000000u /* a timer may be so late without loss of rate */

/* The part of a queue pair that only raw packets need. Under the QP's lock. */
struct raw_qp {
	struct ether_port *port;
	struct vswitch_tx tx;
	uint64_t next_frame_ns; /* rate limit: the next frame's earliest time */
	uint32_t tso_sent;      /* payload bytes of the request at `next` that were sent */
	uint8_t *frame;         /* a frame that is assembled; allocated at need */
};

/* ---- receiving ---- */

struct ether_dest *hca_qp_dest(struct hca_qp *qp)
{
	if (qp->rss)
		return &qp->rss->dest;
	return qp->wq ? &qp->wq->dest : NULL;
}

static int create_wq(struct qp *qp, const struct hca_qp_init *init)
{
	const struct hca_wq_init as = { .pd = init->pd,
					.cq = init->recv_cq,
					.format = init->format,
					.ring = init->rq,
					.flags = init->wq_flags,
					.user_index = init->user_index };
	struct hca_wq *wq = calloc(1, sizeof(*wq));

	if (!wq)
		return -ENOMEM;
	hca_wq_init(wq, &as);
	wq->wqn = qp->pub.qpn;
	wq->self_lb = init->self_lb;
	qp->pub.wq = wq;
	return 0;
}

static int create_rss(struct qp *qp, const struct hca_qp_init *init)
{
	int err = hca_rss_create(init->ctx, init->ind_table, init->rss_fields, init->rss_key,
				 &qp->pub.rss);

	if (!err)
		qp->pub.rss->self_lb = init->self_lb;
	return err;
}

static int create(struct qp *qp, const struct hca_qp_init *init)
{
	int err = vswitch_join(init->ctx->adapter);
	struct raw_qp *raw;

	if (err)
		return err;
	raw = calloc(1, sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	if (init->ind_table)
		err = create_rss(qp, init);
	else if (init->rq.size)
		err = create_wq(qp, init);
	if (err) {
		free(raw);
		return err;
	}
	/* Other threads find the QP already, and may run it. */
	fabric_lock(&qp->pub.lock);
	qp->raw_qp = raw;
	fabric_unlock(&qp->pub.lock);
	return 0;
}

static int check_idle(struct qp *qp)
{
	struct ether_dest *dest = hca_qp_dest(&qp->pub);

	if (dest && atomic_load(&dest->users))
		return explain(EBUSY, "%u flow rules still use QP 0x%x", atomic_load(&dest->users),
			       qp->pub.qpn);
	return 0;
}

static void fini(struct qp *qp)
{
	if (qp->pub.rss)
		hca_rss_destroy(qp->pub.rss);
	if (qp->pub.wq) {
		hca_wq_fini(qp->pub.wq);
		free(qp->pub.wq);
	}
	free(qp->raw_qp->frame);
	free(qp->raw_qp);
}

static void enter(struct qp *qp, enum hca_qp_state state)
{
	struct hca_wq *wq = qp->pub.wq;

	if (qp->attr.port)
		qp->raw_qp->port = ether_port(qp->pub.ctx->adapter->index, qp->attr.port);
	if (state == HCA_QPS_RESET)
		qp->raw_qp->tso_sent = 0;
	if (!wq)
		return;
	if (state == HCA_QPS_RESET)
		hca_wq_modify(wq, HCA_WQS_RESET);
	else if (state == HCA_QPS_RTR)
		hca_wq_modify(wq, HCA_WQS_RDY);
	else if (state == HCA_QPS_ERR && wq->state == HCA_WQS_RDY)
		hca_wq_modify(wq, HCA_WQS_ERR);
}

/* ---- sending ---- */

static void flush_sent(struct qp *qp)
{
	if (likely(qp->raw_qp)) /* not while the QP is being created */
		vswitch_flush(&qp->raw_qp->tx);
}

static void finish(struct qp *qp, const struct hca_send *s)
{
	qp->raw_qp->tso_sent = 0;
	request_finish(qp, s, HCA_SUCCESS, 0);
}

static enum run_result refuse(struct qp *qp, const struct hca_send *s, enum hca_status status,
			      uint8_t vendor)
{
	flush_sent(qp);
	qp->raw_qp->tso_sent = 0;
	request_fail(qp, s, status, vendor);
	return RUN_STOP;
}

/* A buffer for a frame that is not sent as it lies in memory. */
static uint8_t *get_buffer(struct qp *qp)
{
	struct raw_qp *raw = qp->raw_qp;

	if (!raw->frame)
		raw->frame = malloc(ETHER_FRAME_MAX + VLAN_BYTES);
	return raw->frame;
}

/* Fills in the checksums that the request asks for; headers are parsed from the frame itself. */
static void fill_checksums(const struct hca_send *s, struct ether_frame *f, uint8_t *data)
{
	const struct ether_parsed *parsed;

	if (!(s->offload & ~HCA_OFFLOAD_VLAN))
		return;
	parsed = ether_frame_parse(f);
	/* Inner checksums first: the outer UDP checksum covers them. */
	if (s->offload & HCA_OFFLOAD_INNER_L4)
		ether_fill_l4(data, &parsed->inner);
	if (s->offload & HCA_OFFLOAD_INNER_L3)
		ether_fill_l3(data, &parsed->inner);
	if (s->offload & HCA_OFFLOAD_L4)
		ether_fill_l4(data, &parsed->outer);
	if (s->offload & HCA_OFFLOAD_L3)
		ether_fill_l3(data, &parsed->outer);
}

static void insert_tag(uint8_t *data, uint32_t *len, uint16_t tci)
{
	memmove(data + 12 + VLAN_BYTES, data + 12, *len - 12);
	data[12] = 0x81;
	data[13] = 0;
	data[14] = tci >> 8;
	data[15] = (uint8_t)tci;
	*len += VLAN_BYTES;
}

/*
 * The rate limit: false before the next frame's time, and then the QP is run again at that time.
 * Each frame moves the time on by its own duration; the time lags behind the clock by at most a
 * burst or a late timer.
 */
static bool is_due(struct qp *qp)
{
	struct raw_qp *raw = qp->raw_qp;
	uint64_t rate = qp->attr.rate_limit, now = hca_now_ns(), slack;

	slack = qp->attr.burst * 8000000ull / rate;
	if (slack < PACE_SLACK_NS)
		slack = PACE_SLACK_NS;
	if (now < raw->next_frame_ns) {
		flush_sent(qp);
		timer_pause(qp, raw->next_frame_ns - now);
		return false;
	}
	if (raw->next_frame_ns + slack < now)
		raw->next_frame_ns = now - slack;
	return true;
}

/* False when the frame has to wait; true when it was sent, or dropped by a rule. */
static bool send_frame(struct qp *qp, struct ether_frame *f)
{
	struct raw_qp *raw = qp->raw_qp;

	f->tx = &raw->tx;
	f->src_process = fabric_self();
	f->src_domain = qp->pub.ctx->domain;
	f->src_qpn = qp->pub.qpn;
	if (unlikely(qp->attr.rate_limit) && !is_due(qp))
		return false;
	if (ether_steer_out(raw->port, f) && !vswitch_send(qp, raw->port, f))
		return false;
	if (unlikely(qp->attr.rate_limit))
		raw->next_frame_ns += f->len * 8000000ull / qp->attr.rate_limit;
	return true;
}

/* Errors are reported before the frame is sent: this thread may receive it, too. */
static bool copy_out(struct qp *qp, const struct hca_list *list, uint64_t off, uint8_t *to,
		     uint64_t len)
{
	bool done = hca_mem_copy_out(list, off, to, len);

	sig_error_of_request(qp);
	return done;
}

static enum run_result send_one(struct qp *qp, struct hca_send *s, const struct hca_list *list)
{
	struct ether_frame f = { .len = (uint32_t)s->length, .wire_only = s->wire_only };
	uint8_t *data;

	if (likely(list->count == 1 && list->seg[0].kind == HCA_SEG_PLAIN && !s->offload)) {
		f.data = (const uint8_t *)list->seg[0].ptr;
	} else {
		data = get_buffer(qp);
		if (!data || !copy_out(qp, list, 0, data, s->length))
			return refuse(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		if (s->offload & HCA_OFFLOAD_VLAN)
			insert_tag(data, &f.len, s->vlan_tci);
		f.data = data;
		fill_checksums(s, &f, data);
	}
	if (!send_frame(qp, &f))
		return RUN_WAIT;
	finish(qp, s);
	return RUN_ON;
}

/* Sends the payload in segments of `mss` bytes, behind what earlier calls have sent. */
static enum run_result send_segments(struct qp *qp, struct hca_send *s, const struct hca_list *list)
{
	uint32_t total = (uint32_t)s->length - s->tso_header;
	uint8_t *data = get_buffer(qp);

	if (!data)
		return refuse(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	while (qp->raw_qp->tso_sent < total) {
		uint32_t off = qp->raw_qp->tso_sent,
			 n = total - off < s->mss ? total - off : s->mss;
		struct ether_frame f = { .data = data,
					 .len = s->tso_header + n,
					 .wire_only = s->wire_only };

		if (!copy_out(qp, list, 0, data, s->tso_header) ||
		    !copy_out(qp, list, s->tso_header + off, data + s->tso_header, n))
			return refuse(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		if (s->offload & HCA_OFFLOAD_VLAN)
			insert_tag(data, &f.len, s->vlan_tci);
		ether_tso_fix(data, f.len, ether_frame_parse(&f), off / s->mss, off,
			      off + n == total);
		f.parsed_valid = false;
		fill_checksums(s, &f, data);
		if (!send_frame(qp, &f))
			return RUN_WAIT;
		qp->raw_qp->tso_sent += n;
	}
	finish(qp, s);
	return RUN_ON;
}

/* Each element is a frame; those before the one at tso_sent have been sent by earlier calls. */
static enum run_result send_several(struct qp *qp, struct hca_send *s, const struct hca_list *list)
{
	uint64_t off = 0;

	/* Empty elements are not in the list. */
	for (int i = 0; i < list->count; off += list->seg[i++].len) {
		struct ether_frame f = { .len = (uint32_t)list->seg[i].len,
					 .wire_only = s->wire_only };
		uint8_t *data;

		if (list->seg[i].len < ETHER_HEADER || list->seg[i].len > ETHER_FRAME_MAX)
			return refuse(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
		if ((uint32_t)i < qp->raw_qp->tso_sent)
			continue;
		data = get_buffer(qp);
		if (!data || !copy_out(qp, list, off, data, f.len))
			return refuse(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
		if (s->offload & HCA_OFFLOAD_VLAN)
			insert_tag(data, &f.len, s->vlan_tci);
		f.data = data;
		fill_checksums(s, &f, data);
		if (!send_frame(qp, &f))
			return RUN_WAIT;
		qp->raw_qp->tso_sent++;
	}
	finish(qp, s);
	return RUN_ON;
}

static enum run_result access_aso(struct qp *qp, struct hca_send *s)
{
	enum hca_status status = aso_access_run(qp, s);

	sig_error_of_request(qp);
	if (status)
		return refuse(qp, s, status,
			      status == HCA_LOC_PROT_ERR ? SYN_LOCAL_PROT : SYN_QP_OP);
	finish(qp, s);
	return RUN_ON;
}

static enum run_result send_request(struct qp *qp, struct hca_send *s)
{
	struct hca_list list;

	if (unlikely(s->op == HCA_OP_ASO))
		return access_aso(qp, s);
	if (unlikely(!qp->raw_qp->port))
		return refuse(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	if (unlikely(s->sge_count >= HCA_MAX_SGE ||
		     !hca_mem_resolve(s->sge, s->sge_count, qp->pub.pd->pdn, 0, &list)))
		return refuse(qp, s, HCA_LOC_PROT_ERR, SYN_LOCAL_PROT);
	if (s->op == HCA_OP_TSO) {
		if (!s->mss || s->tso_header < ETHER_HEADER || s->length <= s->tso_header ||
		    s->length > TSO_MAX + s->tso_header || s->tso_header + s->mss > ETHER_FRAME_MAX)
			return refuse(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
		return send_segments(qp, s, &list);
	}
	if (s->op == HCA_OP_FRAMES) {
		if (s->tso_header || !hca_model_has(qp->pub.ctx->adapter->model, HCA_HAS_FRAMES))
			return refuse(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
		return send_several(qp, s, &list);
	}
	if (unlikely(s->length < ETHER_HEADER || s->length > ETHER_FRAME_MAX))
		return refuse(qp, s, HCA_LOC_LEN_ERR, SYN_LENGTH);
	return send_one(qp, s, &list);
}

static void flush_recv(struct qp *qp)
{
	if (qp->pub.wq)
		hca_wq_flush_posted(qp->pub.wq);
}

const struct raw_qp_ops raw_qp_ops = {
	.create = create,
	.check_idle = check_idle,
	.fini = fini,
	.enter = enter,
	.send = send_request,
	.flush_sent = flush_sent,
	.flush_recv = flush_recv,
};
