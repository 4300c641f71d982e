/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: one call makes an id ready from the result of rdma_getaddrinfo(). Always synchronous;
 * made of the calls that a program would make itself.
 */
#include <errno.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "cm/bind.h"
#include "cm/channel.h"
#include "cm/id.h"
#include "cm/result.h"
#include "cm/state.h"
#include "util/explain.h"

#define RESOLVE_MS 2000

static int copy_blob(const void *from, size_t len, void **to)
{
	*to = malloc(len);
	if (!*to)
		return explain(ENOMEM, "no memory for %zu bytes of an endpoint", len);
	memcpy(*to, from, len);
	return 0;
}

/* The QP attributes are kept for the ids of incoming connections. */
static int make_passive(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *qp_attr)
{
	int err;

	cm_lock();
	err = cm_id_bind(id, res->ai_src_addr);
	cm_unlock();
	if (err)
		return err;
	if (pd)
		id->pub.pd = pd;
	if (!qp_attr)
		return 0;
	err = copy_blob(qp_attr, sizeof(*qp_attr), (void **)&id->listen_qp_attr);
	if (err)
		return err;
	id->listen_qp_attr->qp_type = id->pub.qp_type;
	return 0;
}

static int make_active(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *qp_attr)
{
	struct rdma_cm_id *pub = &id->pub;
	int err;

	if (rdma_resolve_addr(pub, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS))
		return -errno;
	if (!res->ai_route_len) {
		if (rdma_resolve_route(pub, RESOLVE_MS))
			return -errno;
	} else {
		if (rdma_set_option(pub, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
				    res->ai_route_len))
			return -errno;
		err = cm_event_complete(id);
		if (err)
			return err;
	}
	if (qp_attr) {
		qp_attr->qp_type = pub->qp_type;
		if (rdma_create_qp(pub, pd, qp_attr))
			return -errno;
	}
	if (!res->ai_connect_len)
		return 0;
	err = copy_blob(res->ai_connect, res->ai_connect_len, &id->connect_data);
	if (!err)
		id->connect_len = res->ai_connect_len;
	return err;
}

static int check_info(const struct rdma_addrinfo *res)
{
	if (!res)
		return explain(EINVAL, "an endpoint is made from a result of rdma_getaddrinfo");
	if ((res->ai_route_len && !res->ai_route) || (res->ai_connect_len && !res->ai_connect))
		return explain(EINVAL,
			       "the address information counts %zu bytes of route and %zu "
			       "of connection data, but one of them is NULL",
			       res->ai_route_len, res->ai_connect_len);
	return 0;
}

VB_API int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
			  struct ibv_qp_init_attr *qp_init_attr)
{
	enum ibv_qp_type qp_type;
	struct cm_id *id;
	int err;

	err = check_info(res);
	if (!err && !out)
		err = explain(EINVAL, "rdma_create_ep has nowhere to put the id");
	if (err)
		return cm_result(err);
	qp_type = res->ai_qp_type;
	if (!qp_type)
		qp_type = res->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	err = cm_id_create(NULL, NULL, res->ai_port_space, qp_type, &id);
	if (err)
		return cm_result(err);
	if (res->ai_flags & RAI_PASSIVE)
		err = make_passive(id, res, pd, qp_init_attr);
	else
		err = make_active(id, res, pd, qp_init_attr);
	if (err) {
		rdma_destroy_ep(&id->pub);
		return cm_result(err);
	}
	*out = &id->pub;
	return 0;
}

VB_API void rdma_destroy_ep(struct rdma_cm_id *pub)
{
	struct cm_id *id;

	if (cm_id_enter_any(pub, __func__, &id))
		return;
	cm_id_leave();
	if (pub->qp)
		rdma_destroy_qp(pub);
	if (pub->srq)
		rdma_destroy_srq(pub);
	rdma_destroy_id(pub);
}

/* ---- synchronous listeners ---- */

/* A connection request, or NULL and *err. */
static struct rdma_cm_event *take_request(struct rdma_cm_id *listen, int *err)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(listen->channel, &event)) {
		*err = -errno;
		return NULL;
	}
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !event->status)
		return event;
	listen->event = event;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		*err = -ECONNREFUSED;
	else
		*err = explain(event->status ? abs(event->status) : EINVAL,
			       "%s arrived at the listener, not a connection request",
			       rdma_event_str(event->event));
	return NULL;
}

/* A QP as rdma_create_ep() was told to give every accepted id. */
static int create_listen_qp(struct rdma_cm_id *listen, const struct ibv_qp_init_attr *listen_attr,
			    struct rdma_cm_id *pub)
{
	struct ibv_qp_init_attr attr = *listen_attr;

	return rdma_create_qp(pub, listen->pd, &attr) ? -errno : 0;
}

VB_API int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct rdma_cm_event *event;
	struct cm_id *id;
	int err;

	err = cm_id_enter_any(listen, __func__, &id);
	if (err)
		return cm_result(err);
	if (!id->sync || !out)
		err = explain(EINVAL, "rdma_get_request needs a synchronous listener (one without "
				      "a channel) and a place for the new id");
	cm_id_leave();
	if (err)
		return cm_result(err);
	if (listen->event) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	event = take_request(listen, &err);
	if (!event)
		return cm_result(err);
	if (id->listen_qp_attr)
		err = create_listen_qp(listen, id->listen_qp_attr, event->id);
	/* The next call on the new id acknowledges it. */
	event->id->event = event;
	if (err) {
		rdma_destroy_id(event->id);
		return cm_result(err);
	}
	*out = event->id;
	return 0;
}
