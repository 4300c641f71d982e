/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/service.h"

#include <endian.h>
#include <string.h>

#include "cm/port.h"
#include "cm/sockaddr.h"
#include "hca/wire/gsi_route.h"

uint64_t cm_service_id(const struct cm_id *id, const struct sockaddr *addr)
{
	if (addr->sa_family == AF_IB)
		return be64toh(((const struct sockaddr_ib *)addr)->sib_sid);
	return (uint64_t)id->pub.ps << 16 | cm_addr_port(addr);
}

enum rdma_port_space cm_service_port_space(uint64_t service_id)
{
	switch (service_id >> 16) {
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
	case RDMA_PS_IB:
		return (enum rdma_port_space)(service_id >> 16);
	default:
		return 0;
	}
}

/* The address that the service is offered at, or NULL for all. */
static const uint8_t *service_addr(const struct cm_id *id, union ibv_gid *gid)
{
	const struct sockaddr *own = &id->pub.route.addr.src_addr;

	if (cm_addr_takes_all(own) && !cm_port_af_only(id, own))
		return NULL;
	cm_addr_to_gid(own, gid);
	if (cm_addr_takes_all(own) && own->sa_family == AF_INET6)
		memset(gid->raw, HCA_GSI_ALL_IP6, sizeof(gid->raw));
	else if (cm_addr_takes_all(own))
		memset(gid->raw + 12, 0, 4); /* 0.0.0.0 */
	return gid->raw;
}

int cm_service_offer(struct cm_id *id)
{
	union ibv_gid gid;
	int err;

	err = hca_gsi_service_add(cm_service_id(id, &id->pub.route.addr.src_addr),
				  service_addr(id, &gid));
	id->is_offered = !err;
	return err;
}

void cm_service_withdraw(struct cm_id *id)
{
	union ibv_gid gid;

	if (!id->is_offered)
		return;
	hca_gsi_service_del(cm_service_id(id, &id->pub.route.addr.src_addr),
			    service_addr(id, &gid));
	id->is_offered = false;
}
