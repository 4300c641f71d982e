/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses: checks and translation. No state.
 */
#include "verbs/av.h"

#include <errno.h>
#include <string.h>

#include "util/explain.h"
#include "verbs/eth.h"

static int check_grh(const struct hca_adapter *a, const struct ibv_ah_attr *attr)
{
	struct hca_gid_entry entry;
	int err;

	if (hca_gid_is_empty((const struct hca_gid *)attr->grh.dgid.raw))
		return explain(EINVAL, "address: the destination GID is all zeros");
	err = hca_port_gid(a, attr->port_num, attr->grh.sgid_index, &entry);
	if (err)
		return err;
	if (hca_gid_is_empty(&entry.gid))
		return explain(ENODATA,
			       "address: GID index %u of port %u of %s is empty; ibv_devinfo -v "
			       "lists the GIDs",
			       attr->grh.sgid_index, attr->port_num, a->name);
	return 0;
}

int vb_av_check(const struct hca_adapter *a, const struct ibv_ah_attr *attr)
{
	enum hca_link link;

	if (attr->port_num < 1 || attr->port_num > a->port_count)
		return explain(EINVAL, "address: port %u; %s has ports 1 to %d", attr->port_num,
			       a->name, a->port_count);
	link = a->ports[attr->port_num - 1].link;
	if (link == HCA_LINK_ETHERNET && !attr->is_global)
		return explain(EINVAL,
			       "address: is_global is 0; on Ethernet every packet has a GRH, so "
			       "set it, with grh.dgid and grh.sgid_index");
	if (link == HCA_LINK_INFINIBAND && !attr->is_global && !attr->dlid)
		return explain(EINVAL,
			       "address: dlid and is_global are both 0; a LID or a GRH is needed");
	if (attr->static_rate != IBV_RATE_MAX && ibv_rate_to_mbps(attr->static_rate) < 0)
		return explain(EINVAL, "address: static rate %u is not in enum ibv_rate",
			       attr->static_rate);
	return attr->is_global ? check_grh(a, attr) : 0;
}

void vb_av_fill(const struct hca_adapter *a, const struct ibv_ah_attr *attr, struct hca_av *av)
{
	memset(av, 0, sizeof(*av));
	av->port = attr->port_num;
	av->dlid = attr->dlid;
	av->sl = attr->sl;
	av->src_path_bits = attr->src_path_bits;
	av->static_rate = attr->static_rate;
	av->has_grh = attr->is_global;
	if (!attr->is_global)
		return;
	memcpy(av->dgid.raw, attr->grh.dgid.raw, sizeof(av->dgid.raw));
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->flow_label = attr->grh.flow_label & IB_GRH_FLOWLABEL_MASK;
	if (av->port >= 1 && av->port <= a->port_count &&
	    a->ports[av->port - 1].link == HCA_LINK_ETHERNET)
		vb_eth_mac(av->dgid.raw, av->dmac);
}

void vb_av_show(const struct hca_av *av, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->port_num = av->port;
	attr->dlid = av->dlid;
	attr->sl = av->sl;
	attr->src_path_bits = av->src_path_bits;
	attr->static_rate = av->static_rate;
	attr->is_global = av->has_grh;
	memcpy(attr->grh.dgid.raw, av->dgid.raw, sizeof(attr->grh.dgid.raw));
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
	attr->grh.flow_label = av->flow_label;
}
