/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_resolve_eth_l2_from_gid(): the MAC of a destination, which the kernel may have to resolve.
 */
#include <errno.h>

#include "util/explain.h"
#include "verbs/av.h"
#include "verbs/eth.h"
#include "verbs/neigh.h"

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	const struct hca_adapter *a = to_context(context)->adapter;
	struct hca_gid_entry from;
	int err = vb_av_check(a, attr);

	if (!err)
		err = hca_port_gid(a, attr->port_num, attr->grh.sgid_index, &from);
	if (err)
		return err;
	if (a->ports[attr->port_num - 1].link != HCA_LINK_ETHERNET)
		return explain(EINVAL, "ibv_resolve_eth_l2_from_gid: port %u of %s is InfiniBand",
			       attr->port_num, a->name);
	err = vb_eth_mac(attr->grh.dgid.raw, eth_mac);
	if (err)
		err = vb_neigh_mac(from.ifindex, from.gid.raw, attr->grh.dgid.raw, eth_mac);
	if (err)
		return explain(
			-err,
			"ibv_resolve_eth_l2_from_gid: the GID is not of this host and contains no "
			"MAC, and no neighbour on the interface of GID index %u answers",
			attr->grh.sgid_index);
	if (vid)
		*vid = vb_neigh_vlan(from.ifindex);
	return 0;
}
