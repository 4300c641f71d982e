/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_network.h"

#include <stdlib.h>

#include "hca/transport/qp_types.h"
#include "hca/wire/wire_acks.h"
#include "hca/wire/wire_group.h"
#include "hca/wire/wire_listen.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_poll.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_ports.h"
#include "hca/wire/wire_tx.h"

static int send_one(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	return wire_tx_send(qp, pkt, list, off);
}

const struct carrier wire_carrier = {
	.send = send_one,
	.flush = wire_tx_flush,
	.request_sent = wire_acks_request_sent,
	.datagram_sent = wire_datagram_sent,
	.has_unread = wire_has_unread,
};

static int connect_qp(struct qp *qp, const struct hca_av *av)
{
	int err = wire_path_connect(qp, av);

	qp->carrier = err ? NULL : &wire_carrier;
	return err;
}

/* The QP is dying or reset: no other thread uses qp->wire. */
static void forget(struct qp *qp)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		wire_tx_unblock(port, qp);
		wire_acks_forget(port, qp);
	}
	free(qp->wire);
	qp->wire = NULL;
	qp->carrier = NULL;
}

static int join(struct qp *qp, const struct hca_gid *group)
{
	enum wire_listen_state state;
	int err = wire_group_join(qp, group, &state);

	if (!err)
		wire_listen_follow_gids(state);
	return err;
}

const struct network wire_network = {
	.is_forced = wire_is_forced,
	.check = wire_path_check,
	.check_sport = wire_path_check_sport,
	.connect = connect_qp,
	.listen = wire_listen_qp,
	.forget = forget,
	.join = join,
	.leave = wire_group_leave,
	.send_group = wire_group_send,
};
