/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/gsi_send.h"

#include <errno.h>
#include <string.h>

#include "fabric/epoch.h"
#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "hca/device/presence.h"
#include "hca/transport/grh.h"
#include "hca/wire/forward.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_counters.h"
#include "hca/wire/gsi_ports.h"
#include "hca/wire/wire_ports.h"
#include "util/explain.h"

static int fill(const struct hca_adapter *a, const struct hca_av *to, struct forward *f)
{
	bool ib = a->ports[to->port - 1].link == HCA_LINK_INFINIBAND;
	struct hca_gid_entry src;
	uint16_t sm;
	int err = 0;

	*f = (struct forward){ 0 };
	f->pkt.op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY;
	f->pkt.dqpn = f->pkt.sqpn = HCA_GSI_QPN;
	f->pkt.len = HCA_MAD_BYTES;
	f->pkt.ud.qkey = HCA_GSI_QKEY;
	f->pkt.ud.sl = to->sl;
	f->pkt.ud.dlid = to->dlid;
	f->pkt.ud.port = to->port;
	/* Without a GRH it is on no wire: a service at one address of the host is still found by it. */
	memcpy(f->dst, to->dgid.raw, sizeof(f->dst));
	if (ib)
		err = hca_lid_get(a, to->port, &f->pkt.ud.slid, &sm);
	else if (!to->has_grh)
		return explain(EINVAL, "a MAD from an Ethernet port needs GIDs");
	if (err || !to->has_grh)
		return err;
	if (!hca_port_gid_quick(a, to->port, to->sgid_index, &src))
		return explain(EINVAL, "the entry %u of the GID table is empty", to->sgid_index);
	f->pkt.flags |= ROCE_PKT_GRH;
	f->pkt.ud.roce_kind = hca_grh_build(to, &src, HCA_MAD_BYTES, f->grh);
	memcpy(f->src, src.gid.raw, sizeof(f->src));
	return 0;
}

bool hca_gsi_is_local(const struct hca_adapter *adapter, const struct hca_av *to)
{
	return adapter->ports[to->port - 1].link == HCA_LINK_INFINIBAND ||
	       hca_gid_is_local(&to->dgid);
}

int hca_gsi_send(const struct hca_adapter *adapter, const struct hca_av *to,
		 const uint8_t mad[HCA_MAD_BYTES])
{
	struct forward f;
	int err;

	if (!to->port || to->port > adapter->port_count)
		return explain(EINVAL, "port %u does not exist; %s has ports 1 to %d", to->port,
			       adapter->name, adapter->port_count);
	if (!hca_adapter_is_present(adapter))
		return explain(ENODEV, "%s is unplugged", adapter->name);
	err = fill(adapter, to, &f);
	if (err)
		return err;
	epoch_enter();
	if (adapter->ports[to->port - 1].link == HCA_LINK_INFINIBAND ||
	    (!wire_is_forced() && hca_gid_is_local(&to->dgid))) {
		gsi_packet(&f, mad, false);
	} else {
		err = gsi_ports_send(adapter, to, &f, mad);
	}
	epoch_exit();
	if (!err)
		gsi_count(HCA_GSI_SENT);
	return err;
}
