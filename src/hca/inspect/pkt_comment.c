/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/pkt_comment.h"

#include <stdio.h>
#include <string.h>

#include "hca/transport/qp_table.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/window.h"

static const char *state_name(enum hca_qp_state state)
{
	static const char *const names[] = {
		[HCA_QPS_RESET] = "RESET", [HCA_QPS_INIT] = "INIT", [HCA_QPS_RTR] = "RTR",
		[HCA_QPS_RTS] = "RTS",     [HCA_QPS_SQD] = "SQD",   [HCA_QPS_SQE] = "SQE",
		[HCA_QPS_ERR] = "ERR",
	};

	return state < array_size(names) && names[state] ? names[state] : "?";
}

static bool is_response(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* The work request with this counter: its wr_id, if the driver lets it be found. */
static int format_request(const struct qp *qp, uint32_t counter, char *text, size_t size)
{
	const char *ids = qp->pub.wr_ids;
	uint64_t id;

	if (!ids)
		return snprintf(text, size, ", request %u", counter & 0xffff);
	memcpy(&id, ids + (size_t)(counter & qp->pub.wr_id_mask) * qp->pub.wr_id_stride,
	       sizeof(id));
	return snprintf(text, size, ", wr_id %llu", (unsigned long long)id);
}

void pkt_comment_format(const struct qp *qp, const struct roce_pkt *pkt, bool out, char *text,
			size_t size)
{
	const struct window *w = &qp->window;
	bool response = is_response(pkt->op), has_window = !window_is_empty(w);
	int n = snprintf(text, size, "QP 0x%06x %s", qp->pub.qpn, state_name(qp->pub.state));

	if (n < 0 || (size_t)n >= size)
		return;
	/* A request that is sent is the window's last; a response that arrives is for its first. */
	if (out && qp->pub.type == HCA_QP_UD)
		n += format_request(qp, qp->req.next, text + n, size - n); /* UD has no window */
	else if (has_window && out && !response)
		n += format_request(qp, window_last(w)->counter, text + n, size - n);
	else if (has_window && !out && response)
		n += format_request(qp, window_head(w)->counter, text + n, size - n);
	if ((size_t)n >= size)
		return;
	if (!response && !out && qp->pub.type != HCA_QP_UD)
		snprintf(text + n, size - n, ", expects PSN %u", qp->resp.epsn);
	else if (!out && response)
		snprintf(text + n, size - n, ", window %u of %u packets",
			 (unsigned int)psn_diff(qp->req.high, qp->comp.una), qp->comp.cwnd);
	else if (out && !response && qp->comp.retries)
		snprintf(text + n, size - n, ", retry %u", qp->comp.retries);
}

void pkt_comment_wire(const void *sender, const struct roce_pkt *pkt, bool out, char *text,
		      size_t size)
{
	struct qp *qp;

	if (out) {
		if (sender)
			pkt_comment_format(sender, pkt, true, text, size);
		return;
	}
	qp = qp_find(pkt->dqpn);
	if (!qp) {
		snprintf(text, size, "QP 0x%06x is not of this process", pkt->dqpn);
		return;
	}
	fabric_lock(&qp->pub.lock);
	if (!qp->dying)
		pkt_comment_format(qp, pkt, false, text, size);
	fabric_unlock(&qp->pub.lock);
}
