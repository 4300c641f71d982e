/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/gid_changes.h"
#include "hca/device/lag.h"
#include "hca/device/port.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/gsi_mad.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_ports.h"
#include "roce/endpoint.h"
#include "roce/path.h"
#include "roce/tx_socket.h"
#include "util/explain.h"

/*
 * Printed once, also without VERBENA_EXPLAIN: the program can only report that a connection cannot
 * be made, and the user has to end the other program.
 */
static void report_owner(void)
{
	if (!atomic_exchange(&hca.wire.ports.owner_reported, true))
		fprintf(stderr, "verbena: %s\n", explain_last());
}

int wire_path_check(const struct qp *qp, unsigned int port_num, const struct hca_av *av)
{
	struct hca_gid_entry src;
	struct wire_port *port;
	int err;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, port_num, av->sgid_index, &src))
		return 0; /* the check of attributes explains it */
	err = wire_port_get(&src, false, &port);
	if (err == -EADDRINUSE)
		report_owner();
	return err;
}

int wire_path_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port)
{
	struct hca_gid_entry src;
	struct wire_port *w;
	int err;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src))
		return explain(EINVAL, "the entry %u of the GID table is empty", av->sgid_index);
	err = wire_port_get(&src, false, &w);
	return err ? err : roce_tx_socket_open(w->ep, port);
}

/*
 * The UDP source port, by which networks tell flows apart. A flow label becomes the port that ConnectX
 * drivers make of it; 0: any.
 */
static uint16_t source_port(const struct hca_av *av)
{
	if (likely(!av->flow_label) || av->udp_sport)
		return av->udp_sport;
	return 0xc000 | ((av->flow_label ^ av->flow_label >> 14) & 0x3fff);
}

static bool has_one_peer(const struct qp *qp)
{
	return qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
	       qp->pub.type == HCA_QP_XRC_SEND || qp->pub.type == HCA_QP_XRC_RECV;
}

static void remake(struct qp *qp, void *arg)
{
	(void)arg;
	/* A guest has no context, and a queue pair that is dying may have lost it. */
	if (qp->guest)
		return;
	fabric_lock(&qp->pub.lock);
	if (!qp->dying && qp->remote && has_one_peer(qp) && hca_lag_is_on(qp->pub.ctx->adapter))
		wire_path_connect(qp, &qp->attr.av);
	fabric_unlock(&qp->pub.lock);
}

void wire_path_follow_links(void)
{
	qp_for_each(remake, NULL);
}

int wire_path_connect(struct qp *qp, const struct hca_av *av)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_gid_entry src;
	struct qp_wire *w = qp->wire;
	struct roce_dest dest = { .tclass = av->traffic_class, .ttl = av->hop_limit };
	struct roce_endpoint_limits limits;
	uint32_t gid_changes = hca_gid_changes();
	uint16_t sport = source_port(av);
	uint32_t link = hca_lag_ifindex(a, hca_lag_active(a, qp->attr.lag_port));
	int err;

	if (likely(w && w->sgid_index == av->sgid_index && w->tclass == av->traffic_class &&
		   w->hop_limit == av->hop_limit && w->sport == sport && w->link == link &&
		   w->gid_changes == gid_changes && !memcmp(&w->dgid, &av->dgid, sizeof(w->dgid))))
		return 0;
	if (!hca_port_gid_quick(a, qp->attr.port, av->sgid_index, &src))
		return -EINVAL;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		qp->wire = w;
	}
	err = wire_port_get(&src, true, &w->port);
	if (err) {
		free(w);
		qp->wire = NULL;
		return err;
	}
	if (qp->pub.qpn != HCA_GSI_QPN)
		wire_port_set_polled(w->port);
	/* The kernel counts memory that it has allocated, which is more than the bytes received. */
	roce_endpoint_limits(w->port->ep, &limits);
	qp->read_bytes_most = limits.rcvbuf / 2;
	memcpy(dest.addr.gid, av->dgid.raw, sizeof(dest.addr.gid));
	dest.addr.ifindex = src.ifindex;
	w->dgid = av->dgid;
	w->sgid_index = av->sgid_index;
	w->tclass = av->traffic_class;
	w->gid_changes = gid_changes;
	w->hop_limit = av->hop_limit;
	w->sport = sport;
	w->link = link;
	/* The port only spreads flows: without a socket for it, another port is used. */
	if (unlikely(link) && (dest.sport = roce_tx_socket_for_link(w->port->ep, sport, link)))
		dest.link = link;
	else if (av->udp_sport && !roce_tx_socket_open(w->port->ep, sport))
		dest.sport = sport;
	else if (!av->udp_sport && sport)
		dest.sport = roce_tx_socket_for_flow(w->port->ep, sport);
	else if (!sport && has_one_peer(qp))
		dest.sport = roce_tx_socket_for_host(w->port->ep, &dest.addr);
	err = roce_path_init(&w->path, w->port->ep, &dest);
	w->path.sender = qp;
	return err;
}
