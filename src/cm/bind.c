/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source addresses: bind and listen. Called by programs, and by resolve.c for the source of an
 * unbound id. cm.lock guards the ids.
 */
#include "cm/bind.h"

#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "cm/agent.h"
#include "cm/device.h"
#include "cm/gid.h"
#include "cm/id.h"
#include "cm/port.h"
#include "cm/service.h"
#include "cm/sockaddr.h"
#include "cm/result.h"
#include "util/explain.h"

#define BACKLOG_MAX 1024 /* the kernel's default limit */

/*
 * Which port space an AF_IB address means: its service id names one, as far as the mask says
 * so; an id of RDMA_PS_IB may use any. 0 when id and address disagree.
 */
static enum rdma_port_space ib_port_space(const struct cm_id *id, struct sockaddr_ib *sib)
{
	static const struct {
		enum rdma_port_space ps;
		uint64_t sid;
	} spaces[] = {
		{ RDMA_PS_IB, RDMA_IB_PS_IB },
		{ RDMA_PS_TCP, RDMA_IB_IP_PS_TCP },
		{ RDMA_PS_UDP, RDMA_IB_IP_PS_UDP },
	};
	uint64_t mask = be64toh(sib->sib_sid_mask) & RDMA_IB_IP_PS_MASK;
	uint64_t sid = be64toh(sib->sib_sid);
	size_t i;

	for (i = 0; i < array_size(spaces); i++) {
		if (id->pub.ps != RDMA_PS_IB && id->pub.ps != spaces[i].ps)
			continue;
		if ((sid & mask) != (spaces[i].sid & mask))
			continue;
		sib->sib_sid = htobe64(spaces[i].sid | (sid & RDMA_IB_IP_PORT_MASK));
		sib->sib_sid_mask |= htobe64(RDMA_IB_IP_PS_MASK);
		return spaces[i].ps;
	}
	return 0;
}

static bool host_has(const struct sockaddr *addr)
{
	struct ifaddrs *list, *entry;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (entry = list; entry && !found; entry = entry->ifa_next)
		found = entry->ifa_addr && cm_addr_same_host(entry->ifa_addr, addr);
	freeifaddrs(list);
	return found;
}

/* Explains why no adapter port has the address. */
static int no_adapter_for(const struct sockaddr *addr)
{
	char text[CM_ADDR_TEXT], name[IF_NAMESIZE];

	if (cm_addr_is_link_local(addr) &&
	    !if_indextoname(((const struct sockaddr_in6 *)addr)->sin6_scope_id, name))
		return explain(ENODEV, "%s: sin6_scope_id names no interface",
			       cm_addr_text(addr, text));
	if (addr->sa_family != AF_IB && !host_has(addr))
		return explain(EADDRNOTAVAIL,
			       "%s is no address of this host, nor a GID of an adapter",
			       cm_addr_text(addr, text));
	return explain(ENODEV,
		       "%s is not in the GID table of any adapter; `verbena devices -v` shows "
		       "what is",
		       cm_addr_text(addr, text));
}

int cm_id_bind(struct cm_id *id, const struct sockaddr *addr)
{
	struct sockaddr_storage storage = { 0 };
	struct sockaddr *own = (struct sockaddr *)&storage;
	enum rdma_port_space ps = id->pub.ps;
	char text[CM_ADDR_TEXT];
	struct cm_gid gid;
	int err;

	if (!cm_addr_len(addr))
		return explain(EINVAL, "%s cannot be bound; AF_INET, AF_INET6 and AF_IB can",
			       cm_addr_text(addr, text));
	if (id->state != CM_IDLE)
		return explain(EINVAL, "the id is %s; only an id that is not bound can be bound",
			       cm_state_name(id->state));
	memcpy(own, addr, cm_addr_len(addr));
	if (cm_addr_is_link_local(own) && !((struct sockaddr_in6 *)own)->sin6_scope_id)
		return explain(EINVAL, "%s is link-local; sin6_scope_id must name its interface",
			       cm_addr_text(own, text));
	if (own->sa_family == AF_IB)
		ps = ib_port_space(id, (struct sockaddr_ib *)own);
	if (!ps)
		return explain(EPROTONOSUPPORT,
			       "%s is of another port space than the id, which is of 0x%x",
			       cm_addr_text(own, text), id->pub.ps);

	if (!cm_addr_takes_all(own) && cm_gid_find(own, &gid))
		return no_adapter_for(own);
	err = cm_port_claim(id, ps, own);
	if (err)
		return err;
	/* As in the kernel, an id bound to loopback has no adapter until it resolves or connects. */
	if (!cm_addr_takes_all(own)) {
		err = cm_gid_attach(id, &gid);
		if (err)
			goto release_port;
	}
	/* The agent hears of changes of the interface; without it the id does not. */
	if (id->device)
		cm_agent_need();
	id->pub.route.addr.src_storage = storage;
	id->state = CM_BOUND;
	return 0;
release_port:
	cm_port_release(id);
	return err;
}

VB_API int rdma_bind_addr(struct rdma_cm_id *pub, struct sockaddr *addr)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = cm_id_bind(id, addr);
	cm_id_leave();
	return cm_result(err);
}

static int start_listen(struct cm_id *id, int backlog)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	bool was_idle = id->state == CM_IDLE;
	int err;

	if (was_idle) {
		err = cm_id_bind(id, (const struct sockaddr *)&any);
		if (err)
			return err;
	}
	if (id->state != CM_BOUND)
		return explain(EINVAL, "the id is %s; only a bound one can listen",
			       cm_state_name(id->state));
	err = cm_port_listen(id);
	if (err)
		goto unbind;
	/* An adapter must be open for its ports to be listened at. */
	if (!cm_device_next(NULL))
		err = explain(ENODEV, "there is no adapter that opens");
	if (!err)
		err = cm_agent_need();
	if (!err)
		err = cm_service_offer(id);
	if (err)
		goto unbind;
	id->backlog = backlog > 0 && backlog < BACKLOG_MAX ? backlog : BACKLOG_MAX;
	id->state = CM_LISTEN;
	return 0;
unbind:
	if (was_idle)
		cm_id_unbind(id);
	return err;
}

VB_API int rdma_listen(struct rdma_cm_id *pub, int backlog)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = start_listen(id, backlog);
	cm_id_leave();
	return cm_result(err);
}
