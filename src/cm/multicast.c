/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/multicast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/sockaddr.h"
#include "hca/device/lid.h"
#include "util/explain.h"

#define NOT_SUPPORTED    524  /* the kernel's ENOTSUPP, which libc has no name for */
#define SIGNATURE_RDMACM 0x01 /* of group addresses of the port space UDP; IPoIB has 0x1b */
#define SIGNATURE_IPOIB  0x1b

/* RFC 4391, section 4: the group's last 28 bits, or of IPv6 80 bits, in a link-local MGID. */
static void ipoib_mgid(const struct cm_id *id, const struct sockaddr *addr, union ibv_gid *mgid)
{
	uint8_t signature = id->pub.ps == RDMA_PS_UDP ? SIGNATURE_RDMACM : SIGNATURE_IPOIB;
	__be16 pkey = id->pub.route.addr.addr.ibaddr.pkey;

	memset(mgid, 0, sizeof(*mgid));
	mgid->raw[0] = 0xff;
	mgid->raw[1] = 0x12;
	memcpy(mgid->raw + 4, &pkey, sizeof(pkey));
	mgid->raw[4] |= 0x80; /* full membership */
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

		mgid->raw[2] = 0x40;
		mgid->raw[3] = signature;
		memcpy(mgid->raw + 12, &in->sin_addr, 4);
		mgid->raw[12] &= 0x0f;
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

		mgid->raw[2] = 0x60;
		mgid->raw[3] = signature;
		memcpy(mgid->raw + 6, in6->sin6_addr.s6_addr + 6, 10);
	}
}

static bool is_ethernet(const struct cm_id *id)
{
	struct ibv_port_attr port;

	return !ibv_query_port(id->pub.verbs, id->pub.port_num, &port) &&
	       port.link_layer == IBV_LINK_LAYER_ETHERNET;
}

int cm_multicast_map(struct cm_multicast *mc)
{
	const struct sockaddr *addr = (const struct sockaddr *)&mc->addr;
	const struct cm_id *id = mc->id;

	if (is_ethernet(id) && id->pub.ps == RDMA_PS_IPOIB)
		return explain(EINVAL, "RDMA_PS_IPOIB is for InfiniBand");
	if (is_ethernet(id) && addr->sa_family == AF_INET6)
		return explain(NOT_SUPPORTED,
			       "groups of RoCE v2 have IPv4 addresses, as in the kernel's RDMA CM");
	if (addr->sa_family == AF_IB || is_ethernet(id)) {
		cm_addr_to_gid(addr, &mc->mgid);
		if (addr->sa_family == AF_IB && !is_ethernet(id))
			mc->mlid = hca_mlid_of(mc->mgid.raw);
		return 0;
	}
	ipoib_mgid(id, addr, &mc->mgid);
	mc->mlid = hca_mlid_of(mc->mgid.raw);
	return 0;
}

void cm_multicast_leave(struct cm_multicast *mc)
{
	struct cm_id *id = mc->id;

	LIST_REMOVE(mc, entry);
	if (mc->event)
		cm_event_withdraw(mc->event);
	if (mc->is_attached && id->pub.qp)
		ibv_detach_mcast(id->pub.qp, &mc->mgid, mc->mlid);
	free(mc);
}

void cm_multicast_leave_all(struct cm_id *id)
{
	while (!LIST_EMPTY(&id->multicasts))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the last one was removed */
		cm_multicast_leave(LIST_FIRST(&id->multicasts));
}
