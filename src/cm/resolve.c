/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_resolve_addr: wrong arguments and a host without a route are refused by the call; failures that
 * depend on adapters and neighbours are events. cm.lock guards the ids.
 */
#include <errno.h>
#include <string.h>

#include "cm/agent.h"
#include "cm/bind.h"
#include "cm/channel.h"
#include "cm/id.h"
#include "cm/resolving.h"
#include "cm/result.h"
#include "cm/sockaddr.h"
#include "cm/source.h"
#include "util/explain.h"

static int check_addresses(const struct cm_id *id, const struct sockaddr *src,
			   const struct sockaddr *dst)
{
	char text[CM_ADDR_TEXT];

	if (!cm_addr_len(dst))
		return explain(EINVAL, "%s is no destination; AF_INET, AF_INET6 and AF_IB are",
			       cm_addr_text(dst, text));
	if (src && !cm_addr_len(src))
		return explain(EINVAL, "%s is no source; AF_INET, AF_INET6 and AF_IB are",
			       cm_addr_text(src, text));
	if (id->state != CM_IDLE && id->state != CM_BOUND)
		return explain(EINVAL,
			       "the id is %s; an address is resolved once, on a new or "
			       "bound id",
			       cm_state_name(id->state));
	if (id->state == CM_BOUND)
		src = &id->pub.route.addr.src_addr;
	if (src && src->sa_family != dst->sa_family)
		return explain(EINVAL,
			       "source and destination are of families %u and %u; both "
			       "must be of one",
			       src->sa_family, dst->sa_family);
	if (cm_addr_is_link_local(dst) && !((const struct sockaddr_in6 *)dst)->sin6_scope_id)
		return explain(EINVAL, "%s is link-local; sin6_scope_id must name its interface",
			       cm_addr_text(dst, text));
	return 0;
}

/* There is no adapter at the source address. */
static int post_error(struct cm_id *id, int status)
{
	struct cm_event *event = cm_event_create(id, RDMA_CM_EVENT_ADDR_ERROR, status);

	if (!event)
		return -ENOMEM;
	cm_event_post(event);
	return 0;
}

static int resolve_bound(struct cm_id *id, const struct sockaddr *dst, int timeout_ms)
{
	struct rdma_addr *addr = &id->pub.route.addr;
	struct sockaddr_storage old_dst = addr->dst_storage;
	struct cm_source source;
	int err, status, no_agent;

	err = cm_source_find(id, dst, &source, &status);
	if (!err && !status) {
		/* The agent looks for neighbours, and hears of changes of the interface. */
		no_agent = cm_agent_need();
		if (!source.is_known)
			err = no_agent;
	}
	if (err)
		return err;
	memset(&addr->dst_storage, 0, sizeof(addr->dst_storage));
	memcpy(&addr->dst_storage, dst, cm_addr_len(dst));
	if (status)
		err = post_error(id, status);
	else
		err = cm_resolving_start(id, &source, timeout_ms);
	if (err)
		addr->dst_storage = old_dst;
	return err;
}

static int start_resolve_addr(struct cm_id *id, const struct sockaddr *src,
			      const struct sockaddr *dst, int timeout_ms)
{
	struct sockaddr_storage any = { 0 };
	bool was_idle = id->state == CM_IDLE;
	int err;

	err = check_addresses(id, src, dst);
	if (err)
		return err;
	if (was_idle) {
		any.ss_family = dst->sa_family;
		err = cm_id_bind(id, src ? src : (struct sockaddr *)&any);
		if (err)
			return err;
	}
	err = resolve_bound(id, dst, timeout_ms);
	if (err && was_idle)
		cm_id_unbind(id);
	return err;
}

VB_API int rdma_resolve_addr(struct rdma_cm_id *pub, struct sockaddr *src_addr,
			     struct sockaddr *dst_addr, int timeout_ms)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = start_resolve_addr(id, src_addr, dst_addr, timeout_ms);
	cm_id_leave();
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}
