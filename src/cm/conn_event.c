/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The QP of an id changes its state when the program fetches the event that requires it, on the
 * thread that fetches it: a program that moves its QPs itself sees no change behind its back.
 */
#include "cm/conn_event.h"

#include <errno.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/qp_state.h"
#include "cm/state.h"
#include "util/explain.h"

/* The peer has accepted: its answer makes the QP ready, and establishes the connection. */
static void deliver_response(struct cm_event *event)
{
	struct cm_id *id = event->owner;
	int err;

	if (!id->pub.qp)
		return; /* the program moves its QP and calls rdma_establish() */
	err = cm_qp_to_rts(id);
	cm_lock();
	if (!err)
		err = id->conn ? conn_establish(id->conn, NULL, 0) : -EINVAL;
	/* The QP does not become ready, or the peer has ended the connection meanwhile. */
	if (err && id->conn &&
	    conn_reject(id->conn, MSG_REJ_CONSUMER_DEFINED, NULL, 0, cm_now_ns()))
		conn_disconnect(id->conn, cm_now_ns());
	id->connect_error = err;
	cm_unlock();
	if (err) {
		cm_qp_to_error(id);
		event->pub.event = RDMA_CM_EVENT_CONNECT_ERROR;
		event->pub.status = -1; /* as the real library reports it */
		return;
	}
	event->pub.event = RDMA_CM_EVENT_ESTABLISHED;
}

static void deliver_rejection(struct cm_event *event)
{
	event->is_hidden = event->owner->connect_error;
	if (!event->is_hidden)
		cm_qp_to_error(event->owner);
}

static void deliver_disconnection(struct cm_event *event)
{
	event->is_hidden = event->owner->connect_error;
}

static void copy_private(struct cm_event *event, const struct conn_event *from)
{
	struct rdma_conn_param *param = &event->pub.param.conn;

	if (!from->private_data)
		return;
	param->private_data = event->private_data;
	param->private_data_len = from->private_len;
	memcpy(event->private_data, from->private_data, from->private_len);
}

static void copy_reply(struct cm_event *event, const struct conn *conn, const struct msg_rep *rep)
{
	struct rdma_conn_param *param = &event->pub.param.conn;

	param->responder_resources = conn->params.responder_resources;
	param->initiator_depth = conn->params.initiator_depth;
	param->flow_control = rep->flow_control;
	param->rnr_retry_count = rep->rnr_retry_count;
	param->srq = rep->srq;
	param->qp_num = conn->params.remote_qpn;
	event->owner->responder_resources = conn->params.responder_resources;
	event->owner->initiator_depth = conn->params.initiator_depth;
	event->owner->remote_ece.vendor_id = rep->vendor_id;
	event->owner->remote_ece.options = rep->attr_mod;
}

void cm_conn_event(struct conn *conn, const struct conn_event *from)
{
	static const enum rdma_cm_event_type types[] = {
		[CONN_EVENT_REP] = RDMA_CM_EVENT_CONNECT_RESPONSE,
		[CONN_EVENT_ESTABLISHED] = RDMA_CM_EVENT_ESTABLISHED,
		[CONN_EVENT_REJECTED] = RDMA_CM_EVENT_REJECTED,
		[CONN_EVENT_UNREACHABLE] = RDMA_CM_EVENT_UNREACHABLE,
		[CONN_EVENT_DISCONNECTED] = RDMA_CM_EVENT_DISCONNECTED,
		[CONN_EVENT_TIMEWAIT_EXIT] = RDMA_CM_EVENT_TIMEWAIT_EXIT,
	};
	struct cm_id *id = conn->owner;
	struct cm_event *event = cm_event_create(id, types[from->kind], from->status);

	if (!event)
		return;
	copy_private(event, from);
	switch (from->kind) {
	case CONN_EVENT_REP:
		copy_reply(event, conn, from->rep);
		event->deliver = deliver_response;
		break;
	case CONN_EVENT_REJECTED:
		event->deliver = deliver_rejection;
		break;
	case CONN_EVENT_DISCONNECTED:
		event->deliver = deliver_disconnection;
		id->state = CM_DISCONNECT;
		break;
	default:
		break;
	}
	cm_event_post(event);
}
