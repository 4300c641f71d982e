/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_network.h"

#include "hca/wire/wire.h"

static int send_one(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	return wire_send(qp, pkt, list, off);
}

const struct carrier wire_carrier = {
	.send = send_one,
	.flush = wire_flush,
	.request_sent = wire_replied,
	.datagram_sent = wire_datagram_sent,
	.has_unread = wire_is_behind,
};

static int connect_qp(struct qp *qp, const struct hca_av *av)
{
	int err = wire_connect(qp, av);

	qp->carrier = err ? NULL : &wire_carrier;
	return err;
}

static void forget(struct qp *qp)
{
	wire_forget(qp);
	qp->carrier = NULL;
}

const struct network wire_network = {
	.is_forced = wire_forced,
	.check = wire_check,
	.check_sport = wire_check_sport,
	.connect = connect_qp,
	.listen = wire_listen,
	.forget = forget,
	.join = wire_join,
	.leave = wire_leave,
	.send_group = wire_send_group,
};
