/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gsi.lock guards the list of senders.
 */
#include "hca/wire/gsi_ports.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hca/device/adapter_list.h"
#include "hca/hca.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/forward.h"
#include "hca/wire/gsi_mad.h"
#include "hca/wire/wire_listen.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_tx.h"

/* Queue pair 1 of a port, for sending. */
struct gsi_sender {
	struct qp qp;
	uint32_t psn; /* of the next packet */
	struct hca_ctx ctx;
	LIST_ENTRY(gsi_sender) entry;
};

/* Finds or makes the sender. gsi.lock held. */
static struct gsi_sender *find_sender(const struct hca_adapter *adapter, uint8_t port)
{
	struct gsi_sender *s;

	LIST_FOREACH(s, &hca.wire.gsi.senders, entry)
		if (s->ctx.adapter == adapter && s->qp.attr.port == port)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->ctx.adapter = adapter;
	s->qp.pub.ctx = &s->ctx;
	s->qp.pub.type = HCA_QP_UD;
	s->qp.pub.qpn = HCA_GSI_QPN;
	s->qp.pub.state = HCA_QPS_RTS;
	s->qp.attr.port = port;
	s->qp.attr.qkey = HCA_GSI_QKEY;
	s->qp.dying = true; /* MADs are not retried when the socket has room again */
	LIST_INSERT_HEAD(&hca.wire.gsi.senders, s, entry);
	return s;
}

static int send_out(struct gsi_sender *s, const struct hca_av *to, const struct forward *f,
		    const uint8_t *mad)
{
	struct hca_list list = { .count = 1, .total = HCA_MAD_BYTES };
	struct roce_pkt pkt = f->pkt;
	int err = wire_path_connect(&s->qp, to);

	if (err)
		return err;
	pkt.flags &= ~ROCE_PKT_GRH;
	pkt.psn = s->psn;
	s->psn = psn_add(s->psn, 1);
	list.seg[0] = (struct hca_seg){ .ptr = (char *)mad, .len = HCA_MAD_BYTES };
	err = wire_tx_send(&s->qp, &pkt, &list, 0);
	wire_tx_flush(&s->qp);
	return err;
}

int gsi_ports_send(const struct hca_adapter *adapter, const struct hca_av *to,
		   const struct forward *f, const uint8_t *mad)
{
	struct gsi_sender *s;
	int err;

	pthread_mutex_lock(&hca.wire.gsi.lock);
	s = find_sender(adapter, to->port);
	err = s ? send_out(s, to, f, mad) : -ENOMEM;
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return err;
}

void gsi_ports_listen(void)
{
	const struct hca_adapter *const *list;
	struct gsi_sender *s;
	int count;

	if (hca_adapters_get(&list, &count))
		return;
	pthread_mutex_lock(&hca.wire.gsi.lock);
	for (int i = 0; i < count; i++)
		for (unsigned int port = 1; (int)port <= list[i]->port_count; port++) {
			if (list[i]->ports[port - 1].link != HCA_LINK_ETHERNET)
				continue;
			s = find_sender(list[i], (uint8_t)port);
			if (s)
				wire_listen_qp(&s->qp);
		}
	pthread_mutex_unlock(&hca.wire.gsi.lock);
}
