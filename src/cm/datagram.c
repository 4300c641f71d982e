/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/datagram.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/id.h"
#include "cm/ip_header.h"
#include "cm/request.h"
#include "cm/service.h"
#include "cm/sidr.h"
#include "cm/state.h"
#include "util/explain.h"

static int copy_private(const char *call, const void *data, uint8_t len, uint8_t *to, size_t room)
{
	if (!data || !len)
		return 0;
	if (len > room)
		return explain(EINVAL, "%s takes %zu bytes of private data for datagrams, not %u",
			       call, room, len);
	memcpy(to, data, len);
	return 0;
}

int cm_datagram_connect(struct cm_id *id, const struct rdma_conn_param *param,
			const struct conn_route *route)
{
	const struct rdma_addr *addr = &id->pub.route.addr;
	struct msg_sidr_req req = { 0 };
	size_t at = 0;
	int err;

	if (addr->dst_addr.sa_family != AF_IB) {
		ip_header_put(&addr->src_addr, &addr->dst_addr, req.private_data);
		at = IP_HEADER_BYTES;
	}
	err = param ? copy_private("rdma_connect", param->private_data, param->private_data_len,
				   req.private_data + at, sizeof(req.private_data) - at)
		    : 0;
	if (err)
		return err;
	req.service_id = cm_service_id(id, &addr->dst_addr);
	req.pkey = be16toh(id->pub.route.path_rec->pkey);
	id->sidr = sidr_send_req(&cm.sidrs, id, route, &req, cm_now_ns());
	if (!id->sidr)
		return explain(ENOMEM, "no memory for a request");
	id->state = CM_CONNECT;
	return 0;
}

int cm_datagram_accept(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct msg_sidr_rep rep = { .status = MSG_SIDR_VALID, .qkey = RDMA_UDP_QKEY };
	struct msg_sidr_rep rejection = { .status = MSG_SIDR_REJECTED };
	int err;

	if (!id->pub.qp && !param)
		return explain(EINVAL, "rdma_accept: an id without a QP needs parameters that name "
				       "one (qp_num)");
	rep.qpn = id->pub.qp ? id->pub.qp->qp_num : param->qp_num;
	rep.vendor_id = id->remote_ece.vendor_id;
	rep.attr_mod = id->local_ece.options;
	err = param ? copy_private("rdma_accept", param->private_data, param->private_data_len,
				   rep.private_data, sizeof(rep.private_data))
		    : 0;
	/* As the kernel's RDMA CM: a request that could not be accepted is rejected. */
	if (err)
		sidr_send_rep(id->sidr, &rejection);
	return err ? err : sidr_send_rep(id->sidr, &rep);
}

int cm_datagram_reject(struct cm_id *id, const void *private_data, uint8_t len)
{
	struct msg_sidr_rep rep = { .status = MSG_SIDR_REJECTED };
	int err = copy_private("rdma_reject", private_data, len, rep.private_data,
			       sizeof(rep.private_data));

	return err ? err : sidr_send_rep(id->sidr, &rep);
}

enum msg_sidr_status cm_datagram_request(struct sidr *sidr, const struct msg_sidr_req *req)
{
	struct request_ends ends;
	struct rdma_ud_param *param;
	struct cm_id *listener, *id;
	struct cm_event *event;

	listener =
		cm_request_listener(&sidr->route, req->service_id, req->private_data, NULL, &ends);
	if (!listener || listener->pub.qp_type != IBV_QPT_UD)
		return MSG_SIDR_UNSUPPORTED;
	if (cm_request_is_full(listener))
		return MSG_SIDR_REJECTED;
	id = cm_request_id(listener, &sidr->route, &ends);
	if (!id)
		return MSG_SIDR_REJECTED;
	event = cm_request_event(listener, id);
	if (!event) {
		cm_id_discard(id);
		return MSG_SIDR_REJECTED;
	}
	param = &event->pub.param.ud;
	param->private_data = event->private_data;
	param->private_data_len = MSG_SIDR_REQ_PRIVATE - ends.header_len;
	memcpy(event->private_data, req->private_data + ends.header_len, param->private_data_len);
	sidr->owner = id;
	id->sidr = sidr;
	cm_request_post(event);
	return 0;
}

static void set_ah(const struct sidr *sidr, struct ibv_ah_attr *ah)
{
	const struct hca_av *av = &sidr->route.av;

	ah->port_num = av->port;
	ah->dlid = av->dlid;
	ah->sl = av->sl;
	ah->is_global = av->has_grh;
	memcpy(ah->grh.dgid.raw, av->dgid.raw, sizeof(av->dgid.raw));
	ah->grh.sgid_index = av->sgid_index;
	ah->grh.hop_limit = av->hop_limit;
	ah->grh.traffic_class = av->traffic_class;
	ah->grh.flow_label = av->flow_label;
}

void cm_datagram_reply(struct sidr *sidr, const struct msg_sidr_rep *rep)
{
	struct cm_id *id = sidr->owner;
	struct rdma_ud_param *param;
	struct cm_event *event;

	event = cm_event_create(id, RDMA_CM_EVENT_UNREACHABLE, rep ? rep->status : -ETIMEDOUT);
	if (!event)
		return;
	param = &event->pub.param.ud;
	if (rep) {
		param->private_data = event->private_data;
		param->private_data_len = MSG_SIDR_REP_PRIVATE;
		memcpy(event->private_data, rep->private_data, MSG_SIDR_REP_PRIVATE);
	}
	if (rep && rep->status == MSG_SIDR_VALID) {
		event->pub.event = RDMA_CM_EVENT_ESTABLISHED;
		set_ah(sidr, &param->ah_attr);
		param->qp_num = rep->qpn;
		param->qkey = rep->qkey;
		id->remote_ece.vendor_id = rep->vendor_id;
		id->remote_ece.options = rep->attr_mod;
	}
	cm_event_post(event);
}
