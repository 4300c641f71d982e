/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators of the dynamically connected transport; dct.c says how it works. */
#include "hca/transport/dci.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "hca/transport/egress.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/request.h"

#define ERRORED_MOST 256u
#define PSN_FAR      (1u << 22)

struct dci {
	bool aimed;
	uint32_t session;
	uint32_t first_psn;
	uint32_t last_psn; /* before the last reset */
	uint16_t stream;
	bool streams;
	uint32_t errored_most; /* the QP fails with this many failed streams */
	uint32_t errored_count;
	uint16_t errored[ERRORED_MOST];
};

int dci_init(struct qp *qp, const struct hca_qp_init *init)
{
	if (init->type != HCA_QP_DCI)
		return 0;
	qp->dci = calloc(1, sizeof(*qp->dci));
	if (!qp->dci)
		return -ENOMEM;
	/* Higher than those of the process that had the QP number before. */
	qp->dci->session = hca.clock->wall_ms();
	qp->dci->streams = init->dci_streams;
	qp->dci->errored_most = 1u << init->dci_log_errored;
	if (qp->dci->errored_most > ERRORED_MOST)
		qp->dci->errored_most = ERRORED_MOST;
	return 0;
}

void dci_fini(struct qp *qp)
{
	free(qp->dci);
}

/* The key of a target does not protect its answers: strangers have to guess these numbers. */
uint32_t dci_first_psn(const struct qp *qp)
{
	uint32_t distance = PSN_FAR + hca.clock->random() % (PSN_MASK - 2 * PSN_FAR);

	return (qp->dci->last_psn + distance) & PSN_MASK;
}

void dci_reset(struct qp *qp)
{
	if (!qp->dci)
		return;
	qp->dci->aimed = false;
	qp->dci->errored_count = 0;
	if (qp->req.high)
		qp->dci->last_psn = qp->req.high;
}

static bool same_way(const struct hca_av *a, const struct hca_av *b)
{
	return !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) && a->sgid_index == b->sgid_index &&
	       a->dlid == b->dlid && a->traffic_class == b->traffic_class;
}

bool dci_is_aimed(const struct qp *qp, const struct hca_send *s)
{
	const struct dci *d = qp->dci;

	return likely(d->aimed && qp->attr.dest_qpn == s->dqpn && qp->dc_key == s->dc_key &&
		      d->stream == s->dc_stream && same_way(&qp->attr.av, &s->av));
}

void dci_aim(struct qp *qp, const struct hca_send *s)
{
	struct dci *d = qp->dci;

	qp->attr.av = s->av;
	qp->attr.av.port = qp->attr.port;
	qp_traffic_set_path(qp);
	qp->attr.dest_qpn = s->dqpn;
	qp->peer = NULL;
	qp->remote = false;
	qp->dc_key = s->dc_key;
	d->stream = s->dc_stream;
	d->session++;
	d->first_psn = qp->req.psn;
	d->aimed = true;
}

bool dci_announce(struct qp *qp)
{
	struct roce_pkt pkt = {
		.op = ROCE_PKT_DC_BEGIN,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.psn = qp->dci->first_psn,
		.rdma = { .va = qp->dc_key, .rkey = qp->dci->session },
	};

	return send_packet(qp, qp->peer, &pkt, NULL, 0, NULL) != -EAGAIN;
}

void dci_fill(const struct qp *qp, struct roce_pkt *pkt)
{
	pkt->dc.key = qp->dc_key;
	pkt->dc.session = qp->dci->session;
	pkt->dc.first_psn = qp->dci->first_psn;
}

bool dci_stream_failed(const struct qp *qp, uint16_t stream)
{
	const struct dci *d = qp->dci;

	for (uint32_t i = 0; i < d->errored_count; i++)
		if (d->errored[i] == stream)
			return true;
	return false;
}

bool dci_fail_stream(struct qp *qp)
{
	struct dci *d = qp->dci;

	if (!d->streams || !d->aimed || qp->pub.state != HCA_QPS_RTS ||
	    d->errored_count + 1 >= d->errored_most)
		return false;
	d->errored[d->errored_count++] = d->stream;
	d->aimed = false;
	request_flush(qp);
	return true;
}

void dci_revive_stream(struct qp *qp, uint16_t stream)
{
	struct dci *d = qp->dci;

	for (uint32_t i = 0; i < d->errored_count; i++)
		if (d->errored[i] == stream) {
			d->errored[i] = d->errored[--d->errored_count];
			break;
		}
}
