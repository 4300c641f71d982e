/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of datagram queue pairs. Membership lies in the host directory, by group and
 * link layer; a sender asks it for the members.
 */
#include "hca/transport/mcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/registry.h"
#include "hca/hca.h"
#include "hca/peers/peer.h"
#include "hca/transport/network.h"
#include "hca/transport/qp_types.h"
#include "util/explain.h"

static uint32_t net_of(const struct hca_qp *qp)
{
	const struct qp *priv = (const struct qp *)qp;

	return qp->ctx->adapter->ports[priv->attr.port ? priv->attr.port - 1 : 0].link;
}

static bool is_ipv4_group(const struct hca_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped)) && (gid->raw[12] & 0xf0) == 0xe0;
}

static int check(const struct hca_qp *qp, const struct hca_gid *gid)
{
	if (qp->type != HCA_QP_UD)
		return explain(EINVAL, "only a UD queue pair joins multicast groups");
	/* On Ethernet IPv4 groups are mapped addresses. */
	if (gid->raw[0] != 0xff && !(net_of(qp) == HCA_LINK_ETHERNET && is_ipv4_group(gid)))
		return explain(EINVAL, "a multicast GID starts with 0xff, this one with 0x%02x",
			       gid->raw[0]);
	return 0;
}

/* The members of a group, to be freed; NULL without memory. */
static struct fabric_reg_entry *get_members(const struct hca_qp *qp, const struct hca_gid *gid,
					    size_t *count)
{
	size_t room = fabric_mcast_members(net_of(qp), gid->raw, NULL, 0);
	struct fabric_reg_entry *all = calloc(room + 1, sizeof(*all));

	*count = all ? fabric_mcast_members(net_of(qp), gid->raw, all, room) : 0;
	if (*count > room)
		*count = room;
	return all;
}

static bool is_member(const struct hca_qp *qp, const struct hca_gid *gid)
{
	struct fabric_reg_entry *all;
	bool found = false;
	size_t n;

	all = get_members(qp, gid, &n);
	for (size_t i = 0; i < n && !found; i++)
		found = all[i].value == qp->qpn;
	free(all);
	return found;
}

/*
 * A program may post a datagram to the group and destroy its QP at once, as mckey does: links to the
 * other members are made before.
 */
static void connect_members(const struct hca_qp *qp, const struct hca_gid *gid)
{
	struct fabric_reg_entry *all;
	size_t n;

	all = get_members(qp, gid, &n);
	for (size_t i = 0; i < n; i++)
		hca_peer_connect(all[i].owner);
	free(all);
}

int hca_qp_attach_mcast(struct hca_qp *qp, const struct hca_gid *gid, uint16_t lid)
{
	int err = check(qp, gid);

	/* Attaching twice is attaching once. */
	if (err || is_member(qp, gid))
		return err;
	err = fabric_mcast_join(net_of(qp), gid->raw, qp->qpn);
	if (err)
		return err;
	if (net_of(qp) == HCA_LINK_ETHERNET)
		err = hca.network->join(to_priv(qp), gid);
	if (err) {
		fabric_mcast_leave(net_of(qp), gid->raw, qp->qpn);
		return err;
	}
	to_priv(qp)->mcast++;
	connect_members(qp, gid);
	return 0;
}

int hca_qp_detach_mcast(struct hca_qp *qp, const struct hca_gid *gid, uint16_t lid)
{
	int err = check(qp, gid);

	if (!err)
		err = fabric_mcast_leave(net_of(qp), gid->raw, qp->qpn);
	if (err == -ENOENT)
		err = explain(EINVAL, "QP 0x%x is not attached to that group", qp->qpn);
	if (!err) {
		to_priv(qp)->mcast--;
		if (net_of(qp) == HCA_LINK_ETHERNET)
			hca.network->leave(to_priv(qp), gid);
	}
	return err;
}
