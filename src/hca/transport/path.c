/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an address to a link or the network. The address says whether the destination is this host; on
 * this host the queue pair number says which process owns it.
 */
#include "hca/transport/path.h"

#include <string.h>

#include "fabric/numbers.h"
#include "hca/device/gid_changes.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/transport/network.h"

bool path_gid_is_local(struct qp *qp, const struct hca_gid *gid)
{
	uint32_t changes = hca_gid_changes();

	if (likely(qp->local_gid_valid && qp->local_gid_changes == changes &&
		   !memcmp(&qp->local_gid_seen, gid, sizeof(*gid))))
		return true;
	if (!hca_gid_is_local(gid))
		return false;
	qp->local_gid_seen = *gid;
	qp->local_gid_changes = changes;
	qp->local_gid_valid = true;
	return true;
}

static bool is_infiniband(const struct qp *qp)
{
	unsigned int port = qp->attr.port ? qp->attr.port : 1;

	return qp->pub.ctx->adapter->ports[port - 1].link == HCA_LINK_INFINIBAND;
}

static bool is_local(struct qp *qp, const struct hca_av *av)
{
	/* InfiniBand ports have no wire: every LID and GID that exists is on this host. */
	if (is_infiniband(qp))
		return true;
	return !hca.network->is_forced() && path_gid_is_local(qp, &av->dgid);
}

static enum path_state find(uint32_t dqpn, struct hca_peer **out)
{
	fabric_id_t owner = fabric_qpn_owner(dqpn);
	bool wait = false;

	if (owner == FABRIC_ID_NONE)
		return PATH_NONE;
	*out = hca_peer_find(owner, &wait);
	if (*out)
		return PATH_READY;
	return wait ? PATH_WAIT : PATH_NONE;
}

int path_connect_remote(struct qp *qp, const struct hca_av *av)
{
	int err = hca.network->connect(qp, av);

	if (err)
		return err;
	qp->remote = true;
	qp->mtu = 128u << qp->attr.path_mtu;
	return 0;
}

bool path_exists(const struct qp *qp)
{
	const struct hca_av *av = &qp->attr.av;

	/* Without an address of its own, answers go to the process that the request came from. */
	if (qp->pub.type == HCA_QP_DCR || qp->guest || !is_infiniband(qp))
		return true;
	return av->dlid ? fabric_lid_is_taken(av->dlid) : av->has_grh;
}

enum path_state path_find(struct qp *qp)
{
	struct hca_peer *peer = NULL;
	enum path_state state;

	if (qp->pub.type == HCA_QP_DCR || qp->guest)
		return PATH_NONE; /* answers only, by the path of the requests */
	qp->peer = NULL;
	if (!is_local(qp, &qp->attr.av))
		return path_connect_remote(qp, &qp->attr.av) ? PATH_NONE : PATH_READY;
	if (!path_exists(qp))
		return PATH_NONE;
	state = find(qp->attr.dest_qpn, &peer);
	if (state == PATH_READY)
		qp_set_peer(qp, peer);
	return state;
}

enum path_state path_datagram(struct qp *qp, const struct hca_av *av, uint32_t dqpn,
			      struct hca_peer **out)
{
	*out = NULL;
	if (!is_local(qp, av))
		return hca.network->connect(qp, av) ? PATH_NONE : PATH_READY;
	return find(dqpn, out);
}
