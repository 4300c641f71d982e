/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Communication ids: creation, destruction and change of channel. cm.lock guards them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/device.h"
#include "cm/id.h"
#include "cm/multicast.h"
#include "cm/port.h"
#include "cm/resolving.h"
#include "cm/result.h"
#include "cm/service.h"
#include "cm/sidr.h"
#include "cm/sockaddr.h"
#include "cm/state.h"
#include "util/explain.h"

int cm_id_enter_any(struct rdma_cm_id *pub, const char *call, struct cm_id **out)
{
	struct cm_handle *handle;

	cm_lock();
	handle = cm_handle_find(CM_ID, pub);
	if (!handle) {
		cm_unlock();
		return explain(EINVAL,
			       "%s: %p is no id of this library; rdma_create_id makes one, and it "
			       "ends with rdma_destroy_id",
			       call, (void *)pub);
	}
	*out = container_of(handle, struct cm_id, handle);
	return 0;
}

int cm_id_enter(struct rdma_cm_id *pub, const char *call, struct cm_id **out)
{
	int err = cm_id_enter_any(pub, call, out);

	if (err || (*out)->state != CM_REMOVED)
		return err;
	cm_unlock();
	return explain(ENXIO, "%s: the id's adapter was removed; the id can only be destroyed",
		       call);
}

void cm_id_leave(void)
{
	cm_unlock();
}

static int check_port_space(enum rdma_port_space ps)
{
	switch (ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
	case RDMA_PS_IB:
		return 0;
	default:
		return explain(EINVAL,
			       "0x%x is no port space; RDMA_PS_TCP, _UDP, _IPOIB and _IB are", ps);
	}
}

/* Programs with QPs of their own ask for it before they accept. */
static uint32_t choose_psn(void)
{
	uint32_t psn = 0;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
		psn = (uint32_t)cm_now_ns();
	return psn & 0xffffff;
}

int cm_id_create(struct rdma_event_channel *public, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **out)
{
	struct cm_channel *channel = NULL;
	struct cm_id *id;
	int err;

	err = check_port_space(ps);
	if (err)
		return err;
	err = cm_devices_need();
	if (err)
		return err;
	id = calloc(1, sizeof(*id));
	if (!id)
		return explain(ENOMEM, "no memory for an id");
	if (!public) {
		err = cm_channel_create(&channel);
		if (err)
			goto free_id;
		id->sync = true;
		public = &channel->pub;
	}
	TAILQ_INIT(&id->events);
	id->pub.channel = public;
	id->pub.context = context;
	id->pub.ps = ps;
	id->pub.qp_type = qp_type;
	id->seq_num = choose_psn();

	cm_lock();
	channel = cm_channel_find(public);
	if (!channel) {
		cm_unlock();
		err = explain(EINVAL,
			      "%p is no event channel; pass one of rdma_create_event_channel, or "
			      "NULL for a synchronous id",
			      (void *)public);
		goto free_id;
	}
	cm_handle_add(&id->handle, CM_ID, &id->pub);
	cm_channel_set(id, channel);
	cm_unlock();
	*out = id;
	return 0;
free_id:
	free(id);
	return err;
}

void cm_id_unbind(struct cm_id *id)
{
	cm_service_withdraw(id);
	cm_port_release(id);
	if (id->device) {
		LIST_REMOVE(id, device_link);
		cm_device_put(id->device);
		id->device = NULL;
		id->pub.verbs = NULL;
		id->pub.pd = NULL;
		id->pub.port_num = 0;
	}
	memset(&id->pub.route.addr, 0, sizeof(id->pub.route.addr));
	id->state = CM_IDLE;
}

struct cm_id *cm_id_create_child(struct cm_id *listener)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	TAILQ_INIT(&id->events);
	id->pub.context = listener->pub.context;
	id->pub.ps = listener->pub.ps;
	id->pub.qp_type = listener->pub.qp_type;
	id->tos = listener->tos;
	id->ack_timeout = listener->ack_timeout;
	id->ack_timeout_set = listener->ack_timeout_set;
	id->state = CM_CONNECT;
	id->seq_num = choose_psn();
	cm_handle_add(&id->handle, CM_ID, &id->pub);
	return id;
}

/* With cm.lock held. */
static void end_connection(struct cm_id *id)
{
	cm_resolving_cancel(id);
	if (id->conn)
		conn_abandon(id->conn, cm_now_ns());
	id->conn = NULL;
	if (id->sidr)
		sidr_abandon(id->sidr);
	id->sidr = NULL;
}

void cm_id_remove(struct cm_id *id)
{
	cm_resolving_cancel(id);
	/* Without a DREQ or REJ, which would leave by the adapter. */
	if (id->conn)
		conn_free(id->conn);
	id->conn = NULL;
	if (id->sidr)
		sidr_free(id->sidr);
	id->sidr = NULL;
	cm_multicast_leave_all(id);
	cm_service_withdraw(id);
	cm_port_release(id);
	id->state = CM_REMOVED;
}

static void free_id(struct cm_id *id)
{
	rdma_freeaddrinfo(id->resolved_info);
	free(id->pub.route.path_rec);
	free(id->listen_qp_attr);
	free(id->connect_data);
	free(id);
}

void cm_id_discard(struct cm_id *id)
{
	cm_handle_remove(&id->handle);
	end_connection(id);
	cm_event_purge(id);
	cm_channel_set(id, NULL);
	cm_id_unbind(id);
	free_id(id);
}

VB_API int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out,
			  void *context, enum rdma_port_space ps)
{
	enum ibv_qp_type qp_type = IBV_QPT_RC;
	struct cm_id *id;
	int err;

	if (!out)
		return cm_result(explain(EINVAL, "rdma_create_id has nowhere to put the id"));
	if (ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB)
		qp_type = IBV_QPT_UD;
	err = cm_id_create(channel, context, ps, qp_type, &id);
	if (err)
		return cm_result(err);
	*out = &id->pub;
	return 0;
}

VB_API int rdma_destroy_id(struct rdma_cm_id *pub)
{
	struct cm_channel *channel;
	struct cm_id *id;
	int err;

	err = cm_id_enter_any(pub, __func__, &id);
	if (err)
		return cm_result(err);
	/* From here on no call finds the id any more; only its reported events point to it. */
	cm_handle_remove(&id->handle);
	channel = cm_channel_find(pub->channel);
	end_connection(id);
	cm_multicast_leave_all(id);
	/* No request may arrive at the id while its events are being waited for. */
	cm_service_withdraw(id);
	cm_port_release(id);
	cm_event_purge(id);
	cm_channel_set(id, NULL);
	cm_id_leave();
	if (pub->event)
		rdma_ack_cm_event(pub->event);

	cm_lock();
	cm_event_wait_acked(id);
	cm_id_unbind(id);
	cm_devices_free_removed();
	cm_unlock();

	if (id->sync && channel)
		cm_channel_destroy(channel);
	free_id(id);
	return 0;
}

/* Moves the id and returns the channel it came from when that was our own. */
static int change_channel(struct rdma_cm_id *pub, struct rdma_event_channel *public, bool sync,
			  struct cm_channel **own)
{
	struct cm_channel *from, *to;
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, "rdma_migrate_id", &id);
	if (err)
		return err;
	if (sync && id->sync) {
		err = explain(EINVAL,
			      "id %p is synchronous already; pass a channel to make it "
			      "report there",
			      (void *)pub);
		goto leave;
	}
	to = cm_channel_find(public);
	if (!to) {
		err = explain(EINVAL, "%p is no event channel to migrate to", (void *)public);
		goto leave;
	}
	from = cm_channel_find(pub->channel);
	cm_event_move(id, to);
	cm_channel_set(id, to);
	*own = id->sync ? from : NULL;
	id->sync = sync;
	pub->channel = public;
leave:
	cm_id_leave();
	return err;
}

VB_API int rdma_migrate_id(struct rdma_cm_id *pub, struct rdma_event_channel *public)
{
	struct cm_channel *fresh = NULL, *own = NULL;
	struct cm_id *id;
	int err;

	if (!public) {
		err = cm_channel_create(&fresh);
		if (err)
			return cm_result(err);
		public = &fresh->pub;
	}
	err = change_channel(pub, public, fresh != NULL, &own);
	if (err) {
		if (fresh)
			cm_channel_destroy(fresh);
		return cm_result(err);
	}
	if (own) {
		if (pub->event) {
			rdma_ack_cm_event(pub->event);
			pub->event = NULL;
		}
		cm_channel_destroy(own);
	}
	/* The program has seen the last event of the old channel when it has acknowledged it. */
	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	cm_event_wait_acked(id);
	cm_id_leave();
	return 0;
}

VB_API int rdma_write_cm_event(struct rdma_cm_id *pub, enum rdma_cm_event_type type, int status,
			       uint64_t arg)
{
	struct cm_event *event;
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (type != RDMA_CM_EVENT_USER) {
		err = explain(EINVAL, "programs may only write RDMA_CM_EVENT_USER (%d), not %d",
			      RDMA_CM_EVENT_USER, type);
		goto leave;
	}
	event = cm_event_create(id, type, status);
	if (!event) {
		err = -ENOMEM;
		goto leave;
	}
	event->pub.param.arg = arg;
	cm_event_post(event);
leave:
	cm_id_leave();
	return cm_result(err);
}

static __be16 port_of(struct rdma_cm_id *pub, const char *call, bool source)
{
	struct cm_id *id;
	uint16_t port;

	if (cm_id_enter_any(pub, call, &id))
		return 0;
	port = cm_addr_port(source ? &pub->route.addr.src_addr : &pub->route.addr.dst_addr);
	cm_id_leave();
	return htobe16(port);
}

VB_API __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(id, __func__, true);
}

VB_API __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(id, __func__, false);
}

VB_API int rdma_set_local_ece(struct rdma_cm_id *pub, struct ibv_ece *ece)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter_any(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (pub->qp || !ece || !ece->vendor_id || ece->comp_mask) {
		err = explain(EINVAL,
			      "ECE options are set by hand only on an id without a QP, with a "
			      "vendor id and comp_mask 0 (QP %p, vendor 0x%x, comp_mask 0x%x)",
			      (void *)pub->qp, ece ? ece->vendor_id : 0, ece ? ece->comp_mask : 0);
	} else {
		id->local_ece.vendor_id = ece->vendor_id;
		id->local_ece.options = ece->options;
	}
	cm_id_leave();
	return cm_result(err);
}

VB_API int rdma_get_remote_ece(struct rdma_cm_id *pub, struct ibv_ece *ece)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter_any(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (pub->qp || !ece) {
		err = explain(EINVAL,
			      "the peer's ECE options are for ids without a QP of their "
			      "own, and need a place to go (QP %p, place %p)",
			      (void *)pub->qp, (void *)ece);
	} else {
		*ece = id->remote_ece;
		ece->comp_mask = 0;
	}
	cm_id_leave();
	return cm_result(err);
}
