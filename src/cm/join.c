/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A group is joined by an event: the id's QP is attached to it when the program fetches the event,
 * and detached by leaving. cm.lock guards the list of groups.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/id.h"
#include "cm/multicast.h"
#include "cm/result.h"
#include "cm/sockaddr.h"
#include "cm/state.h"
#include "util/explain.h"

#define QPN_MULTICAST   0xffffffu
#define HOP_LIMIT       64
#define JOIN_MASK_KNOWN (RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)

/* The program fetches the event: its QP receives from now on. Without cm.lock. */
static void deliver_join(struct cm_event *event)
{
	struct cm_id *id = event->owner;
	struct cm_multicast *mc;
	union ibv_gid mgid;
	uint16_t mlid;
	int err;

	cm_lock();
	LIST_FOREACH(mc, &id->multicasts, entry)
		if (mc->event == event)
			break;
	if (!mc || mc->send_only || !id->pub.qp) {
		if (mc)
			mc->event = NULL;
		cm_unlock();
		return;
	}
	mc->event = NULL;
	mgid = mc->mgid;
	mlid = mc->mlid;
	cm_unlock();
	/* The program serialises calls on one id, so the group stays in the list. */
	err = ibv_attach_mcast(id->pub.qp, &mgid, mlid);
	if (err) {
		event->pub.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		event->pub.status = -1;
		return;
	}
	mc->is_attached = true;
}

static void set_param(const struct cm_multicast *mc, struct rdma_ud_param *param, void *context)
{
	struct ibv_ah_attr *ah = &param->ah_attr;

	param->private_data = context;
	param->qp_num = QPN_MULTICAST;
	param->qkey = RDMA_UDP_QKEY;
	ah->is_global = 1;
	ah->grh.dgid = mc->mgid;
	ah->grh.sgid_index = (uint8_t)mc->id->gid_index;
	ah->grh.hop_limit = HOP_LIMIT;
	ah->dlid = mc->mlid;
	ah->port_num = mc->id->pub.port_num;
}

static int check_join(const struct cm_id *id, const struct sockaddr *addr)
{
	char text[CM_ADDR_TEXT];

	if (!id->device || (id->state != CM_BOUND && id->state != CM_ADDR_RESOLVED))
		return explain(EINVAL,
			       "the id is %s; groups are joined by ids that are bound to an "
			       "address, or have resolved one",
			       cm_state_name(id->state));
	if (id->pub.ps != RDMA_PS_UDP && id->pub.ps != RDMA_PS_IPOIB)
		return explain(EINVAL, "only ids of RDMA_PS_UDP join groups, and of RDMA_PS_IPOIB "
				       "on InfiniBand");
	if (!addr || !cm_addr_len(addr) || cm_addr_is_any(addr))
		return explain(EINVAL, "%s is no address of a group", cm_addr_text(addr, text));
	return 0;
}

static int join(struct cm_id *id, const struct sockaddr *addr, bool send_only, void *context)
{
	struct cm_multicast *mc;
	struct cm_event *event;
	int err;

	err = check_join(id, addr);
	if (err)
		return err;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return explain(ENOMEM, "no memory for a multicast group");
	mc->id = id;
	mc->send_only = send_only;
	memcpy(&mc->addr, addr, cm_addr_len(addr));
	err = cm_multicast_map(mc);
	if (err)
		goto free_mc;
	event = cm_event_create(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (!event) {
		err = -ENOMEM;
		goto free_mc;
	}
	set_param(mc, &event->pub.param.ud, context);
	event->deliver = deliver_join;
	mc->event = event;
	LIST_INSERT_HEAD(&id->multicasts, mc, entry);
	cm_event_post(event);
	return 0;
free_mc:
	free(mc);
	return err;
}

static int enter_and_join(struct rdma_cm_id *pub, const char *call, const struct sockaddr *addr,
			  bool send_only, void *context)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, call, &id);
	if (err)
		return cm_result(err);
	err = join(id, addr, send_only, context);
	cm_id_leave();
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}

VB_API int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return enter_and_join(id, __func__, addr, false, context);
}

VB_API int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				  void *context)
{
	int err = 0;

	if (!attr)
		err = explain(EINVAL, "rdma_join_multicast_ex needs attributes");
	else if (attr->comp_mask & ~JOIN_MASK_KNOWN)
		err = explain(EOPNOTSUPP, "comp_mask 0x%x has unknown bits", attr->comp_mask);
	else if (attr->comp_mask != JOIN_MASK_KNOWN)
		err = explain(EINVAL, "comp_mask must name the address and the join flags");
	else if (attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		err = explain(EINVAL, "%u is no way to join a group", attr->join_flags);
	if (err)
		return cm_result(err);
	return enter_and_join(id, __func__, attr->addr,
			      attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

VB_API int rdma_leave_multicast(struct rdma_cm_id *pub, struct sockaddr *addr)
{
	char text[CM_ADDR_TEXT];
	struct cm_multicast *mc;
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	LIST_FOREACH(mc, &id->multicasts, entry)
		if (addr && cm_addr_len(addr) &&
		    cm_addr_same_host((struct sockaddr *)&mc->addr, addr))
			break;
	if (mc)
		cm_multicast_leave(mc);
	else
		err = explain(EADDRNOTAVAIL, "the id is in no group %s", cm_addr_text(addr, text));
	cm_id_leave();
	return cm_result(err);
}
