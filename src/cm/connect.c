/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connecting, accepting, rejecting and disconnecting. cm.lock guards ids and connections; it is not
 * held while a QP changes its state.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cm/agent.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/datagram.h"
#include "cm/device.h"
#include "cm/id.h"
#include "cm/ip_header.h"
#include "cm/qp_state.h"
#include "cm/result.h"
#include "cm/service.h"
#include "cm/state.h"
#include "util/explain.h"

/* As the kernel's RDMA CM has them. */
#define RESPONSE_TIMEOUT 20 /* 4.096 µs × 2^20, about four seconds */
#define MAX_CM_RETRIES   15
#define RETRY_MAX        7
#define LID_PERMISSIVE   0xffff

/* ---- depths and private data ---- */

static const struct rdma_conn_param default_param = {
	.responder_resources = RDMA_MAX_RESP_RES,
	.initiator_depth = RDMA_MAX_INIT_DEPTH,
	.retry_count = RETRY_MAX,
	.rnr_retry_count = RETRY_MAX,
};

static uint8_t at_most(uint8_t value, int max)
{
	return value < max ? value : (uint8_t)max;
}

static int check_depths(const struct cm_id *id, const struct rdma_conn_param *param)
{
	const struct ibv_device_attr *attr = &id->device->attr;

	if (param->responder_resources != RDMA_MAX_RESP_RES &&
	    param->responder_resources > attr->max_qp_rd_atom)
		return explain(EINVAL, "the adapter serves %d reads and atomics at a time, not %u",
			       attr->max_qp_rd_atom, param->responder_resources);
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > attr->max_qp_init_rd_atom)
		return explain(EINVAL, "the adapter has %d reads and atomics in flight, not %u",
			       attr->max_qp_init_rd_atom, param->initiator_depth);
	return 0;
}

/* max: what the peer allows, or the adapter's limit. */
static void choose_depths(struct cm_id *id, const struct rdma_conn_param *param, int max_responder,
			  int max_initiator)
{
	const struct ibv_device_attr *attr = &id->device->attr;

	if (max_responder > attr->max_qp_rd_atom)
		max_responder = attr->max_qp_rd_atom;
	if (max_initiator > attr->max_qp_init_rd_atom)
		max_initiator = attr->max_qp_init_rd_atom;
	id->responder_resources = param->responder_resources == RDMA_MAX_RESP_RES
					  ? (uint8_t)max_responder
					  : param->responder_resources;
	id->initiator_depth = param->initiator_depth == RDMA_MAX_INIT_DEPTH
				      ? (uint8_t)max_initiator
				      : param->initiator_depth;
}

/* The QP of the id, or the one the program says it has. */
static int choose_qp(struct cm_id *id, const struct rdma_conn_param *param, const char *call)
{
	if (id->pub.qp) {
		id->qp_num = id->pub.qp->qp_num;
		id->srq = id->pub.qp->srq != NULL;
		return 0;
	}
	if (!param)
		return explain(EINVAL,
			       "%s: an id without a QP needs parameters that name one (qp_num)",
			       call);
	id->qp_num = param->qp_num;
	id->srq = param->srq;
	return 0;
}

static int copy_private(const char *call, const struct rdma_conn_param *param, uint8_t *to,
			size_t room)
{
	if (!param->private_data || !param->private_data_len)
		return 0;
	if (param->private_data_len > room)
		return explain(EINVAL, "%s takes %zu bytes of private data, not %u", call, room,
			       param->private_data_len);
	memcpy(to, param->private_data, param->private_data_len);
	return 0;
}

/* ---- connecting ---- */

static void set_route(const struct cm_id *id, struct conn_route *route)
{
	const struct ibv_sa_path_rec *path = id->pub.route.path_rec;
	struct hca_av *av = &route->av;

	*route = (struct conn_route){ .adapter = id->device->adapter };
	av->port = id->pub.port_num;
	av->sgid_index = (uint8_t)id->gid_index;
	av->has_grh = path->hop_limit > 1;
	av->hop_limit = path->hop_limit;
	av->traffic_class = path->traffic_class;
	av->flow_label = be32toh(path->flow_label);
	av->sl = path->sl;
	av->dlid = be16toh(path->dlid);
	memcpy(av->dgid.raw, path->dgid.raw, sizeof(av->dgid.raw));
}

/* How long an ACK may take (the kernel's rule; IBTA 1.4, 12.7.34). */
static uint8_t ack_timeout(uint8_t ca_ack_delay, uint8_t packet_life_time)
{
	unsigned int timeout = packet_life_time + 1u;

	if (timeout >= ca_ack_delay)
		timeout += ca_ack_delay >= timeout - 1;
	else
		timeout = ca_ack_delay + (timeout >= ca_ack_delay - 1u);
	return timeout < 31 ? (uint8_t)timeout : 31;
}

static void set_path(const struct cm_id *id, const struct conn_route *route, struct msg_path *out)
{
	const struct ibv_sa_path_rec *path = id->pub.route.path_rec;
	bool has_lids = path->dlid != 0;

	out->local_lid = has_lids ? be16toh(path->slid) : LID_PERMISSIVE;
	out->remote_lid = has_lids ? be16toh(path->dlid) : LID_PERMISSIVE;
	memcpy(out->local_gid, path->sgid.raw, sizeof(out->local_gid));
	memcpy(out->remote_gid, path->dgid.raw, sizeof(out->remote_gid));
	out->flow_label = route->av.flow_label;
	out->packet_rate = path->rate;
	out->traffic_class = path->traffic_class;
	out->hop_limit = path->hop_limit;
	out->sl = path->sl;
	out->is_subnet_local = path->hop_limit <= 1;
	out->local_ack_timeout =
		ack_timeout((uint8_t)id->device->attr.local_ca_ack_delay, path->packet_life_time);
}

/* The addressing header, what rdma_getaddrinfo() found, and the program's own. */
static int set_req_private(const struct cm_id *id, const struct rdma_conn_param *param,
			   struct msg_req *req)
{
	const struct rdma_addr *addr = &id->pub.route.addr;
	size_t at = 0;

	if (addr->dst_addr.sa_family != AF_IB) {
		ip_header_put(&addr->src_addr, &addr->dst_addr, req->private_data);
		at = IP_HEADER_BYTES;
	}
	if (id->connect_len) {
		if (id->connect_len > sizeof(req->private_data) - at)
			return explain(EINVAL,
				       "the address information has %zu bytes of connection "
				       "data; %zu fit",
				       id->connect_len, sizeof(req->private_data) - at);
		memcpy(req->private_data + at, id->connect_data, id->connect_len);
		at += id->connect_len;
	}
	return copy_private("rdma_connect", param, req->private_data + at,
			    sizeof(req->private_data) - at);
}

static int set_req(struct cm_id *id, const struct rdma_conn_param *param,
		   const struct conn_route *route, struct msg_req *req)
{
	const struct ibv_sa_path_rec *path = id->pub.route.path_rec;
	enum ibv_qp_type type = id->pub.qp_type;

	*req = (struct msg_req){ 0 };
	req->service_id = cm_service_id(id, &id->pub.route.addr.dst_addr);
	req->local_ca_guid = route->adapter->node_guid;
	req->local_qpn = id->qp_num;
	req->responder_resources = id->responder_resources;
	req->initiator_depth = id->initiator_depth;
	req->remote_cm_timeout = req->local_cm_timeout = RESPONSE_TIMEOUT;
	req->transport = type == IBV_QPT_UC         ? MSG_TRANSPORT_UC
			 : type == IBV_QPT_XRC_SEND ? MSG_TRANSPORT_EXTENDED
						    : MSG_TRANSPORT_RC;
	req->extended_transport = type == IBV_QPT_XRC_SEND;
	req->flow_control = param->flow_control;
	req->starting_psn = id->seq_num;
	req->retry_count = at_most(param->retry_count, RETRY_MAX);
	req->rnr_retry_count = at_most(param->rnr_retry_count, RETRY_MAX);
	req->pkey = be16toh(path->pkey);
	req->path_mtu = path->mtu;
	req->max_cm_retries = MAX_CM_RETRIES;
	req->srq = id->srq;
	req->vendor_id = id->local_ece.vendor_id;
	req->attr_mod = id->local_ece.options;
	set_path(id, route, &req->primary);
	return set_req_private(id, param, req);
}

static int start_connect(struct cm_id *id, const struct rdma_conn_param *given)
{
	const struct rdma_conn_param *param = given ? given : &default_param;
	struct conn_route route;
	struct msg_req req;
	int err;

	if (id->state != CM_ROUTE_RESOLVED)
		return explain(EINVAL, "the id is %s; it connects once its route is resolved",
			       cm_state_name(id->state));
	if (!id->device->adapter)
		return explain(ENODEV, "the id's adapter has no queue pair 1 to connect by");
	err = cm_agent_need();
	if (err)
		return err;
	set_route(id, &route);
	if (id->pub.qp_type == IBV_QPT_UD)
		return cm_datagram_connect(id, given, &route);
	err = choose_qp(id, given, "rdma_connect");
	if (!err)
		err = check_depths(id, param);
	if (err)
		return err;
	choose_depths(id, param, 255, 255);
	err = set_req(id, param, &route, &req);
	if (err)
		return err;
	id->conn = conn_create(&cm.conns, id, &route);
	if (!id->conn)
		return explain(ENOMEM, "no memory for a connection");
	id->conn->params.av = route.av;
	id->conn->packet_life_time = id->pub.route.path_rec->packet_life_time;
	id->state = CM_CONNECT;
	return conn_send_req(id->conn, &req, cm_now_ns());
}

VB_API int rdma_connect(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = start_connect(id, param);
	cm_id_leave();
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}

VB_API int rdma_establish(struct rdma_cm_id *pub)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (pub->qp)
		err = explain(EINVAL, "the id has a QP, so its connection is established by the "
				      "library");
	else if (!id->conn)
		err = explain(EINVAL, "the id is %s; it has no response to answer",
			      cm_state_name(id->state));
	else
		err = conn_establish(id->conn, NULL, 0);
	cm_id_leave();
	return cm_result(err);
}

/* ---- accepting ---- */

static int check_request(const struct cm_id *id, const char *call)
{
	if (id->conn && id->conn->state == CONN_REQ_RCVD)
		return 0;
	return explain(EINVAL, "%s: the id has no connection request (any more); it is %s", call,
		       cm_state_name(id->state));
}

/* With cm.lock held: everything that can be refused without touching the QP. */
static int begin_accept(struct cm_id *id, const struct rdma_conn_param *given,
			const struct rdma_conn_param *param)
{
	int err;

	err = check_request(id, "rdma_accept");
	if (!err)
		err = choose_qp(id, given, "rdma_accept");
	if (!err)
		err = check_depths(id, param);
	if (err)
		return err;
	choose_depths(id, param, id->conn->params.responder_resources,
		      id->conn->params.initiator_depth);
	return 0;
}

/* With cm.lock held. */
static int send_rep(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct msg_rep rep = { 0 };
	int err;

	err = check_request(id, "rdma_accept");
	if (!err)
		err = copy_private("rdma_accept", param, rep.private_data,
				   sizeof(rep.private_data));
	if (err)
		return err;
	if (id->pub.qp_type == IBV_QPT_XRC_RECV)
		rep.local_eecn = id->qp_num;
	else
		rep.local_qpn = id->qp_num;
	rep.starting_psn = id->seq_num;
	rep.responder_resources = id->responder_resources;
	rep.initiator_depth = id->initiator_depth;
	rep.target_ack_delay = (uint8_t)id->device->attr.local_ca_ack_delay;
	rep.flow_control = param->flow_control;
	rep.rnr_retry_count = at_most(param->rnr_retry_count, RETRY_MAX);
	rep.srq = id->srq || id->pub.qp_type == IBV_QPT_XRC_RECV;
	rep.local_ca_guid = id->conn->local_ca_guid;
	/* The requester takes a reply that names another vendor than its own for an error. */
	rep.vendor_id = id->remote_ece.vendor_id;
	rep.attr_mod = id->local_ece.options;
	return conn_send_rep(id->conn, &rep, cm_now_ns());
}

static int accept_request(struct cm_id *id, const struct rdma_conn_param *given)
{
	const struct rdma_conn_param *param = given ? given : &default_param;
	int err;

	cm_lock();
	err = begin_accept(id, given, param);
	cm_unlock();
	if (err)
		return err;
	if (id->pub.qp) {
		err = cm_qp_to_rts(id);
		if (err)
			return err;
	}
	cm_lock();
	err = id->conn ? send_rep(id, param) : -ENXIO; /* the adapter may be removed meanwhile */
	/* As the kernel's RDMA CM: a request that could not be accepted is rejected. */
	if (err && id->conn && id->conn->state == CONN_REQ_RCVD)
		conn_reject(id->conn, MSG_REJ_CONSUMER_DEFINED, NULL, 0, cm_now_ns());
	cm_unlock();
	if (err)
		cm_qp_to_error(id);
	return err;
}

VB_API int rdma_accept(struct rdma_cm_id *pub, struct rdma_conn_param *param)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (id->sidr) {
		err = cm_datagram_accept(id, param);
		cm_id_leave();
		return cm_result(err);
	}
	cm_id_leave();
	err = accept_request(id, param);
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}

static int reject(struct rdma_cm_id *pub, const char *call, enum msg_reason reason,
		  const void *private_data, uint8_t len)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, call, &id);
	if (err)
		return cm_result(err);
	if (id->sidr)
		err = cm_datagram_reject(id, private_data, len);
	else if (!id->conn)
		err = explain(EINVAL, "%s: the id is %s; it has no connection request", call,
			      cm_state_name(id->state));
	else if (private_data && len > MSG_REJ_PRIVATE)
		err = explain(EINVAL, "%s takes %d bytes of private data, not %u", call,
			      MSG_REJ_PRIVATE, len);
	else
		err = conn_reject(id->conn, reason, private_data, private_data ? len : 0,
				  cm_now_ns());
	cm_id_leave();
	return cm_result(err);
}

VB_API int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	return reject(id, __func__, MSG_REJ_CONSUMER_DEFINED, private_data, private_data_len);
}

VB_API int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			   uint8_t private_data_len)
{
	return reject(id, __func__, MSG_REJ_VENDOR_OPTION_UNSUPPORTED, private_data,
		      private_data_len);
}

/* ---- the end, and notices ---- */

VB_API int rdma_disconnect(struct rdma_cm_id *pub)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err == -ENXIO && pub->qp)
		err = -EIO; /* the QP is to be moved first, and that fails */
	if (err)
		return cm_result(err);
	if (!id->conn && !id->sidr && id->state != CM_LISTEN)
		err = explain(EINVAL, "the id is %s; there is no connection to end",
			      cm_state_name(id->state));
	cm_id_leave();
	/* The QP is lost even when there is no connection, as librdmacm always had it. */
	cm_qp_to_error(id);
	if (err)
		return cm_result(err);
	cm_lock();
	/* When the other end was faster, there is nothing more to say: no error. */
	if (id->conn)
		err = conn_disconnect(id->conn, cm_now_ns());
	cm_unlock();
	return cm_result(id->conn && !err ? cm_event_complete(id) : 0);
}

VB_API int rdma_notify(struct rdma_cm_id *pub, enum ibv_event_type event)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (!id->conn)
		err = explain(EINVAL, "the id is %s; there is no connection to notify of",
			      cm_state_name(id->state));
	else if (event == IBV_EVENT_COMM_EST)
		err = conn_notify_established(id->conn);
	cm_id_leave();
	return cm_result(err);
}
