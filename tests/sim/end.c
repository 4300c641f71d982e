/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/end.h"

#include <stdio.h>
#include <string.h>

#include "hca/device/access.h"
#include "hca/queue/srq.h"
#include "hca/transport/qp.h"
#include "hca/transport/qp_modify.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/rq.h"

#include "sim/completion.h"
#include "sim/host.h"
#include "sim/net.h"
#include "sim/ring.h"
#include "sim/trace.h"
#include "sim/work.h"

const char *end_name(const struct end *end)
{
	static char text[4][32];
	static unsigned int turn;
	static const char *const types[] = {
		[HCA_QP_RC] = "RC",        [HCA_QP_UC] = "UC",        [HCA_QP_UD] = "UD",
		[HCA_QP_XRC_SEND] = "XRC", [HCA_QP_XRC_RECV] = "XRT", [HCA_QP_DCI] = "DCI",
		[HCA_QP_DCT] = "DCT",
	};
	char *out = text[turn++ % 4];

	snprintf(out, sizeof(text[0]), "%s %u (host %u)", types[end->type], end->index,
		 end->host->index);
	return out;
}

/* ---- creation ---- */

static uint32_t domain_of(const struct host *host)
{
	return 1000 + host->index;
}

static void empty_rq(struct rq *rq)
{
	rq->posted = rq->taken = rq->consumed = rq->owed = 0;
	memset(rq->slot, 0, rq->size * sizeof(*rq->slot));
	for (uint32_t i = 0; i < rq->size; i++)
		rq->slot[i].next = (i + 1) % rq->size;
	rq->first_free = 0;
	rq->last_free = rq->size - 1;
}

static void start_srq(struct rq *rq)
{
	struct hca_srq_init init = { .pd = rq->host->pd,
				     .format = &ring_format,
				     .type = rq->type,
				     .ring = { .buf = rq, .size = rq->size },
				     .cq = rq->type == HCA_SRQ_XRC ? rq->cq->hca : NULL,
				     .xrcd = domain_of(rq->host),
				     .user_index = HCA_SRQ_NO_INDEX };
	int err = hca_srq_create(&init, &rq->srq);

	SIM_CHECK(!err, "host %u: no SRQ: %s", rq->host->index, strerror(-err));
	rq->srqn = rq->srq->srqn;
	empty_rq(rq);
}

static void stop_window(struct end *end)
{
	if (end->window.mw)
		hca_mw_destroy(end->window.mw);
	end->window.mw = NULL;
}

static void start_window(struct end *end)
{
	int err;

	end->window = (struct window_model){ .state = MW_IDLE };
	if (end->type != HCA_QP_RC)
		return;
	err = hca_mw_create(end->host->pd, true, &end->window.mw);
	SIM_CHECK(!err, "%s: no window: %s", end_name(end), strerror(-err));
	end->window.key = end->window.mw->key;
}

void end_renew_window(struct end *end)
{
	if (end->window.state == MW_IDLE && !end->window.binding)
		return;
	stop_window(end);
	start_window(end);
}

static void start_qp(struct end *end)
{
	struct host *host = end->host;
	struct hca_qp_init init = { .type = end->type,
				    .ctx = &host->ctx,
				    .format = &ring_format,
				    .dc_key = END_DC_KEY,
				    .out_of_order = end->out_of_order,
				    .user_index = end->index };
	int err;

	init.sq = (struct hca_sq_ring){ .buf = end, .size = end->slots };
	if (end->type == HCA_QP_XRC_RECV) {
		init.xrcd = domain_of(host);
	} else {
		init.pd = host->pd;
		init.send_cq = end->send_cq->hca;
		init.recv_cq = end->recv_cq->hca;
		if (end->rq && end->rq->shared)
			init.srq = end->rq->srq;
		else if (end->rq)
			init.rq = (struct hca_rq_ring){ .buf = end->rq, .size = end->rq->size };
	}
	err = hca_qp_create(&init, &end->hca);
	SIM_CHECK(!err, "%s: not created: %s", end_name(end), strerror(-err));
	end->qpn = end->hca->qpn;
	end->posted = end->done = 0;
	if (end->rq && !end->rq->shared) {
		empty_rq(end->rq);
	}
	start_window(end);
}

void end_start_host(struct host *host)
{
	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		if (sim.rq[i].host == host && sim.rq[i].shared)
			start_srq(&sim.rq[i]);
	for (unsigned int i = 0; i < sim.shape.ends; i++)
		if (sim.end[i].host == host)
			start_qp(&sim.end[i]);
}

void end_stop_host(struct host *host)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		if (end->host != host)
			continue;
		SIM_CHECK(!hca_qp_destroy(end->hca), "%s: not destroyed", end_name(end));
		end->hca = NULL;
		work_discard_all(end);
		stop_window(end);
	}
	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		if (sim.rq[i].host == host && sim.rq[i].shared) {
			SIM_CHECK(!hca_srq_destroy(sim.rq[i].srq), "host %u: an SRQ is in use",
				  host->index);
			sim.rq[i].srq = NULL;
		}
}

/* ---- states ---- */

void end_path(const struct end *end, const struct hca_gid *dgid, struct hca_av *out)
{
	*out = (struct hca_av){ .has_grh = true,
				.port = 1,
				.hop_limit = 64,
				.sgid_index = host_sgid_index(),
				.dgid = *dgid };
}

static uint32_t init_mask(enum hca_qp_type type)
{
	const uint32_t base = HCA_QPM_STATE | HCA_QPM_PKEY_INDEX | HCA_QPM_PORT;

	return type == HCA_QP_UD    ? base | HCA_QPM_QKEY
	       : type == HCA_QP_DCI ? base
				    : base | HCA_QPM_ACCESS;
}

static uint32_t rtr_mask(enum hca_qp_type type)
{
	const uint32_t connected =
		HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU | HCA_QPM_DEST_QPN | HCA_QPM_RQ_PSN;

	switch (type) {
	case HCA_QP_UD:
		return HCA_QPM_STATE;
	case HCA_QP_UC:
	case HCA_QP_XRC_SEND:
		return connected;
	case HCA_QP_DCI:
		return HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU;
	case HCA_QP_DCT:
		return HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU | HCA_QPM_MIN_RNR_TIMER;
	default:
		return connected | HCA_QPM_MAX_DEST_RD_ATOMIC | HCA_QPM_MIN_RNR_TIMER;
	}
}

static uint32_t rts_mask(enum hca_qp_type type)
{
	switch (type) {
	case HCA_QP_UD:
	case HCA_QP_UC:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN;
	case HCA_QP_XRC_RECV:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN | HCA_QPM_TIMEOUT;
	default:
		return HCA_QPM_STATE | HCA_QPM_SQ_PSN | HCA_QPM_TIMEOUT | HCA_QPM_RETRY_CNT |
		       HCA_QPM_RNR_RETRY | HCA_QPM_MAX_RD_ATOMIC;
	}
}

static void advance(struct end *end, const struct hca_qp_attr *attr, enum hca_qp_state to,
		    uint32_t mask)
{
	struct hca_qp_attr at = *attr;
	int err;

	at.state = to;
	err = hca_qp_modify(end->hca, &at, mask);
	SIM_CHECK(!err, "%s: state %d refused: %s", end_name(end), to, strerror(-err));
}

void end_open(struct end *end)
{
	struct hca_qp_attr attr = {
		.port = 1,
		.qkey = END_QKEY,
		.access = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
			  HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_FLUSH,
		.path_mtu = end->path_mtu,
		.sq_psn = end->psn,
		.max_rd_atomic = end->rd_atomic,
		.max_dest_rd_atomic = end->rd_atomic,
		.min_rnr_timer = end->min_rnr_timer,
		.timeout = end->timeout,
		.retry_cnt = end->retry_cnt,
		.rnr_retry = end->rnr_retry,
	};
	struct hca_gid gid = { 0 };

	if (end->peer) {
		attr.dest_qpn = end->peer->qpn;
		attr.rq_psn = end->peer->psn;
		memcpy(gid.raw, end->peer->host->addr.gid, sizeof(gid.raw));
	}
	end_path(end, &gid, &attr.av);
	advance(end, &attr, HCA_QPS_INIT, init_mask(end->type));
	advance(end, &attr, HCA_QPS_RTR, rtr_mask(end->type));
	if (end->type != HCA_QP_DCT)
		advance(end, &attr, HCA_QPS_RTS, rts_mask(end->type));
	end->trouble = sim.shape.harsh;
	end->failed = end->drained = end->flushing = false;
	end->fail_ok = sim.shape.starved;
	end->swap = NULL;
	end->life++;
}

int end_set_state(struct end *end, enum hca_qp_state state)
{
	return hca_qp_modify(end->hca, &(struct hca_qp_attr){ .state = state }, HCA_QPM_STATE);
}

void end_reset(struct end *end)
{
	struct rq *rq = end->rq;

	completion_poll_all(); /* a driver would remove them from the queue */
	completion_explain(end);
	if (end->hca->state != HCA_QPS_RESET)
		SIM_CHECK(!end_set_state(end, HCA_QPS_RESET), "%s: not reset", end_name(end));
	work_discard_all(end);
	if (rq && !rq->shared)
		work_discard_receives(rq);
	else if (rq)
		rq->orphans++;
	/* Packets of the old connection are behind the new one's numbers. */
	end->psn = (end->psn + (1u << 20) + end->index * 7) & 0xffffff;
	end_renew_window(end);
}

void end_reconnect(struct end *end)
{
	end_reset(end);
	if (end->peer)
		end_reset(end->peer);
	end_open(end);
	if (end->peer)
		end_open(end->peer);
}

bool end_is_open(const struct end *end)
{
	return end->hca && end->hca->state == (end->type == HCA_QP_DCT ? HCA_QPS_RTR : HCA_QPS_RTS);
}

/* ---- receives ---- */

static void fill_recv(struct rq *rq, uint32_t slot, struct rng *rng)
{
	struct recv *r = &rq->slot[slot];
	const struct region *region = &rq->host->region[REGION_RECV];
	uint32_t off = rq->off + slot * rq->stride, left = rq->stride;

	*r = (struct recv){ .posted = true, .off = off, .len = rq->stride, .next = r->next };
	while (left) {
		uint32_t len = left;

		if (r->sges < 2 && rng_percent(rng, 30))
			len = rng_between(rng, 1, left);
		r->sge[r->sges++] =
			(struct hca_sge){ (uintptr_t)rq->host->mem + off, len, region->key };
		off += len;
		left -= len;
	}
}

/* The slot for the next receive, or false. */
static bool take_slot(struct rq *rq, uint32_t *slot)
{
	*slot = rq->shared ? rq->first_free : rq->posted % rq->size;
	if (rq->cq->reserved + CQ_SPARE_RECV >= rq->cq->size)
		return false;
	if (!rq->shared)
		return !rq->slot[*slot].posted;
	if (rq->first_free == rq->last_free)
		return false;
	rq->first_free = rq->slot[*slot].next;
	return true;
}

void rq_post(struct rq *rq, struct end *end, unsigned int count, struct rng *rng)
{
	unsigned int done = 0;
	uint32_t slot;

	for (; done < count && take_slot(rq, &slot); done++) {
		fill_recv(rq, slot, rng);
		rq->cq->reserved++;
		rq->posted++;
	}
	if (end && done)
		hca_rq_doorbell(end->hca);
}

void rq_release(struct rq *rq, struct recv *r)
{
	uint32_t slot = (uint32_t)(r - rq->slot);

	r->posted = false;
	rq->consumed++;
	rq->cq->reserved--;
	if (!rq->shared)
		return;
	rq->slot[rq->last_free].next = slot;
	rq->last_free = slot;
}
