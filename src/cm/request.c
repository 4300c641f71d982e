/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a REQ to an id. The id reports to the listener's channel once the program has been told of it.
 */
#include "cm/request.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/device.h"
#include "cm/gid.h"
#include "cm/id.h"
#include "cm/ip_header.h"
#include "cm/port.h"
#include "cm/service.h"
#include "cm/sockaddr.h"
#include "cm/state.h"
#include "util/explain.h"

#define SELECTOR_EXACTLY 2
#define PKEY_DEFAULT     0xffff

static enum ibv_qp_type qp_type_of(const struct msg_req *req)
{
	switch (req->transport) {
	case MSG_TRANSPORT_RC:
		return IBV_QPT_RC;
	case MSG_TRANSPORT_UC:
		return IBV_QPT_UC;
	case MSG_TRANSPORT_EXTENDED:
		return req->extended_transport == 1 ? IBV_QPT_XRC_RECV : 0;
	default:
		return 0;
	}
}

/* AF_IB: addresses are the GIDs of the path, ports the service id. */
static void ib_ends(uint64_t service_id, const struct msg_path *path, struct request_ends *ends)
{
	struct sockaddr_ib own = { .sib_family = AF_IB }, peer = { .sib_family = AF_IB };

	own.sib_pkey = peer.sib_pkey = htobe16(PKEY_DEFAULT);
	if (path) {
		memcpy(own.sib_addr.sib_raw, path->remote_gid, 16);
		memcpy(peer.sib_addr.sib_raw, path->local_gid, 16);
	}
	own.sib_sid = htobe64(service_id);
	own.sib_sid_mask = htobe64(~0ull);
	memcpy(&ends->own, &own, sizeof(own));
	memcpy(&ends->peer, &peer, sizeof(peer));
	ends->header_len = 0;
}

/* The addressing header has no scope: a link-local address is one of the request's interface. */
static void set_scope(const struct conn_route *from, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct cm_device *device;
	struct ibv_gid_entry entry;

	if (!cm_addr_is_link_local((struct sockaddr *)addr))
		return;
	device = cm_device_of(from->adapter);
	if (device &&
	    !ibv_query_gid_ex(device->verbs, from->av.port, from->av.sgid_index, &entry, 0))
		in6->sin6_scope_id = entry.ndev_ifindex;
}

struct cm_id *cm_request_listener(const struct conn_route *from, uint64_t service_id,
				  const uint8_t *private_data, const struct msg_path *path,
				  struct request_ends *ends)
{
	enum rdma_port_space ps = cm_service_port_space(service_id);
	uint16_t port = service_id & 0xffff;
	const struct sockaddr *own = NULL;
	struct cm_id *listener;

	*ends = (struct request_ends){ 0 };
	if (!ps)
		return NULL;
	if (ip_header_get(private_data, port, &ends->peer, &ends->own)) {
		own = (const struct sockaddr *)&ends->own;
		ends->header_len = IP_HEADER_BYTES;
		set_scope(from, &ends->own);
		set_scope(from, &ends->peer);
	}
	listener = cm_port_listener(ps, port, own);
	if (!listener)
		return NULL;
	if (listener->pub.route.addr.src_addr.sa_family == AF_IB)
		ib_ends(service_id, path, ends);
	else if (!own)
		return NULL;
	return listener;
}

static struct ibv_sa_path_rec *make_path(const struct msg_req *req)
{
	struct ibv_sa_path_rec *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	memcpy(path->sgid.raw, req->primary.remote_gid, 16);
	memcpy(path->dgid.raw, req->primary.local_gid, 16);
	path->slid = htobe16(req->primary.remote_lid);
	path->dlid = htobe16(req->primary.local_lid);
	path->flow_label = htobe32(req->primary.flow_label);
	path->hop_limit = req->primary.hop_limit;
	path->traffic_class = req->primary.traffic_class;
	path->reversible = 1;
	path->numb_path = 1;
	path->pkey = htobe16(req->pkey);
	path->sl = req->primary.sl;
	path->mtu_selector = SELECTOR_EXACTLY;
	path->mtu = req->path_mtu;
	path->rate_selector = SELECTOR_EXACTLY;
	path->rate = req->primary.packet_rate;
	path->packet_life_time_selector = SELECTOR_EXACTLY;
	path->packet_life_time =
		req->primary.local_ack_timeout ? req->primary.local_ack_timeout - 1 : 0;
	return path;
}

/* Gives the new id the port that the request arrived at, and its addresses. */
static int set_ends(struct cm_id *id, const struct conn_route *from, struct request_ends *ends)
{
	struct rdma_addr *addr = &id->pub.route.addr;
	struct ibv_gid_entry entry = { 0 };
	struct cm_gid gid = { 0 };
	int err;

	gid.device = cm_device_of(from->adapter);
	if (!gid.device)
		return -1;
	gid.port_num = from->av.port;
	gid.index = from->av.sgid_index;
	if (!ibv_query_gid_ex(gid.device->verbs, gid.port_num, gid.index, &entry, 0))
		gid.gid = entry.gid;
	err = cm_gid_attach(id, &gid);
	if (err)
		return err;
	addr->src_storage = ends->own;
	addr->dst_storage = ends->peer;
	memcpy(addr->addr.ibaddr.dgid.raw, from->av.dgid.raw, 16);
	return 0;
}

struct cm_id *cm_request_id(struct cm_id *listener, const struct conn_route *from,
			    struct request_ends *ends)
{
	struct cm_id *id = cm_id_create_child(listener);

	if (!id)
		return NULL;
	if (set_ends(id, from, ends)) {
		cm_id_discard(id);
		return NULL;
	}
	return id;
}

static struct cm_id *make_id(struct cm_id *listener, struct conn *conn, const struct msg_req *req,
			     struct request_ends *ends)
{
	struct cm_id *id = cm_request_id(listener, &conn->route, ends);

	if (!id)
		return NULL;
	id->pub.qp_type = qp_type_of(req);
	id->pub.route.path_rec = make_path(req);
	id->pub.route.num_paths = 1;
	id->remote_ece.vendor_id = req->vendor_id;
	id->remote_ece.options = req->attr_mod;
	id->responder_resources = conn->params.responder_resources;
	id->initiator_depth = conn->params.initiator_depth;
	memcpy(id->pub.route.addr.addr.ibaddr.dgid.raw, conn->params.av.dgid.raw, 16);
	if (!id->pub.route.path_rec) {
		cm_id_discard(id);
		return NULL;
	}
	id->conn = conn;
	conn->params.local_psn = id->seq_num;
	return id;
}

/* The program gets to know of the id. */
static void deliver(struct cm_event *event)
{
	struct cm_id *listener = event->owner, *id = event->child;
	struct cm_channel *channel = NULL;

	if (listener->sync && !cm_channel_create(&channel))
		id->sync = true;
	cm_lock();
	listener->requests_waiting--;
	if (!channel)
		channel = cm_channel_find(listener->pub.channel);
	if (channel) {
		id->pub.channel = &channel->pub;
		cm_channel_set(id, channel);
	}
	cm_unlock();
}

static void drop(struct cm_event *event)
{
	event->owner->requests_waiting--;
	cm_id_discard(event->child);
}

struct cm_event *cm_request_event(struct cm_id *listener, struct cm_id *id)
{
	struct cm_event *event = cm_event_create(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	if (!event)
		return NULL;
	event->pub.id = &id->pub;
	event->pub.listen_id = &listener->pub;
	event->child = id;
	event->deliver = deliver;
	event->drop = drop;
	return event;
}

void cm_request_post(struct cm_event *event)
{
	event->owner->requests_waiting++;
	cm_event_post(event);
}

bool cm_request_is_full(const struct cm_id *listener)
{
	return listener->requests_waiting >= listener->backlog;
}

static void set_param(struct cm_event *event, const struct cm_id *id, const struct msg_req *req,
		      const struct request_ends *ends)
{
	struct rdma_conn_param *param = &event->pub.param.conn;

	param->private_data_len = MSG_REQ_PRIVATE - ends->header_len;
	memcpy(event->private_data, req->private_data + ends->header_len, param->private_data_len);
	param->private_data = event->private_data;
	param->responder_resources = id->responder_resources;
	param->initiator_depth = id->initiator_depth;
	param->flow_control = req->flow_control;
	param->retry_count = req->retry_count;
	param->rnr_retry_count = req->rnr_retry_count;
	param->srq = req->srq;
	param->qp_num = req->local_qpn;
}

int cm_request_receive(struct conn *conn, const struct msg_req *req)
{
	struct request_ends ends;
	struct cm_id *listener, *id;
	struct cm_event *event;

	listener = cm_request_listener(&conn->route, req->service_id, req->private_data,
				       &req->primary, &ends);
	if (!listener) {
		explain_note(
			"a connection request for the service 0x%llx is rejected: no id listens "
			"to it",
			(unsigned long long)req->service_id);
		return MSG_REJ_INVALID_SERVICE_ID;
	}
	if (qp_type_of(req) != listener->pub.qp_type)
		return MSG_REJ_INVALID_TRANSPORT;
	/* As the kernel's RDMA CM: dropped, and there may be room when the peer tries again. */
	if (cm_request_is_full(listener))
		return -1;
	id = make_id(listener, conn, req, &ends);
	if (!id)
		return MSG_REJ_NO_RESOURCES;
	event = cm_request_event(listener, id);
	if (!event) {
		id->conn = NULL;
		cm_id_discard(id);
		return MSG_REJ_NO_RESOURCES;
	}
	set_param(event, id, req, &ends);
	conn->owner = id;
	cm_request_post(event);
	return 0;
}
