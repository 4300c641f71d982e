/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address and route resolution: the adapter port that leads to a destination, and the path from it.
 * Wrong arguments are refused by the call; failures that depend on adapters and peers are events.
 * The kernel's routing table chooses the source address, as for a socket. cm.lock guards the ids.
 */
#include "cm/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm/bind.h"
#include "cm/channel.h"
#include "cm/device.h"
#include "cm/gid.h"
#include "cm/id.h"
#include "cm/sockaddr.h"
#include "cm/result.h"
#include "util/explain.h"

/* 4.096 us × 2^18, about a second: the kernel's default on Ethernet. */
#define PACKET_LIFE_TIME 18
#define SELECTOR_EXACTLY 2

/*
 * Asks the kernel for the source address of packets to dst. src on entry may be a wildcard or fixed.
 * A fixed address that no interface has is a GID of the adapter, which no routing table knows: it
 * stays.
 */
static int route_source(const struct sockaddr *dst, struct sockaddr *src)
{
	struct sockaddr_storage to = { 0 }, from = { 0 };
	socklen_t len = sizeof(from);
	char text[CM_ADDR_TEXT];
	int fd, err = 0;

	memcpy(&to, dst, cm_addr_len(dst));
	cm_addr_set_port((struct sockaddr *)&to, 9); /* any port: nothing is sent */
	memcpy(&from, src, cm_addr_len(src));
	cm_addr_set_port((struct sockaddr *)&from, 0);

	fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return explain(errno, "no socket to ask for the route to %s",
			       cm_addr_text(dst, text));
	if (!cm_addr_is_any(src) && bind(fd, (struct sockaddr *)&from, cm_addr_len(src)))
		goto close_fd;
	if (connect(fd, (struct sockaddr *)&to, cm_addr_len(dst)) ||
	    getsockname(fd, (struct sockaddr *)&from, &len)) {
		err = explain(errno, "this host has no route to %s", cm_addr_text(dst, text));
		goto close_fd;
	}
	cm_addr_set_port((struct sockaddr *)&from, cm_addr_port(src));
	memcpy(src, &from, cm_addr_len(src));
close_fd:
	close(fd);
	return err;
}

/* A wildcard destination means this host. */
static void set_loopback(struct sockaddr *src)
{
	if (src->sa_family == AF_INET)
		((struct sockaddr_in *)src)->sin_addr.s_addr = htobe32(INADDR_LOOPBACK);
	else if (src->sa_family == AF_INET6)
		((struct sockaddr_in6 *)src)->sin6_addr = in6addr_loopback;
}

/*
 * Chooses the adapter port for an id bound to a wildcard. Returns 0 or a refusal; a missing adapter
 * is not a refusal but *status, for the event.
 */
static int choose_source(const struct sockaddr *dst, struct sockaddr *src, struct cm_gid *gid,
			 int *status)
{
	char text[CM_ADDR_TEXT];
	int err;

	*status = 0;
	if (cm_addr_is_any(dst)) {
		*status = cm_gid_first(dst->sa_family != AF_IB, gid);
		if (!*status)
			set_loopback(src);
	} else if (!cm_gid_find(dst, gid)) {
		/* a GID of this host's adapters: it is its own source */
		uint16_t port = cm_addr_port(src);

		if (dst->sa_family != AF_IB)
			memcpy(src, dst, cm_addr_len(dst));
		cm_addr_set_port(src, port);
	} else if (dst->sa_family == AF_IB) {
		*status = cm_gid_first(false, gid);
	} else {
		err = route_source(dst, src);
		if (err)
			return err;
		*status = cm_gid_find(src, gid);
	}
	if (*status)
		*status = explain(ENODEV,
				  "no adapter has the source address for %s; `verbena devices -v` "
				  "shows the addresses of adapters",
				  cm_addr_text(dst, text));
	else if (src->sa_family == AF_IB)
		memcpy(((struct sockaddr_ib *)src)->sib_addr.sib_raw, gid->gid.raw, 16);
	return 0;
}

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

/* Gives the id an adapter if it has none; otherwise only checks that there is a route. */
static int find_source(struct cm_id *id, const struct sockaddr *dst, int *status)
{
	struct rdma_addr *addr = &id->pub.route.addr;
	struct sockaddr_storage storage = addr->src_storage;
	struct sockaddr *src = (struct sockaddr *)&storage;
	struct cm_gid gid;
	int err;

	*status = 0;
	if (id->device) {
		if (cm_addr_is_any(dst) || dst->sa_family == AF_IB || !cm_gid_find(dst, &gid))
			return 0;
		return route_source(dst, src);
	}
	err = choose_source(dst, src, &gid, status);
	if (err || *status)
		return err;
	err = cm_id_attach(id, &gid);
	if (err)
		return err;
	addr->src_storage = storage;
	return 0;
}

static int start_resolve_addr(struct cm_id *id, const struct sockaddr *src,
			      const struct sockaddr *dst)
{
	struct rdma_addr *addr = &id->pub.route.addr;
	struct sockaddr_storage any = { 0 };
	bool was_idle = id->state == CM_IDLE;
	struct cm_event *event;
	int err, status;

	err = check_addresses(id, src, dst);
	if (err)
		return err;
	event = cm_event_create(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	if (!event)
		return -ENOMEM;
	if (was_idle) {
		any.ss_family = dst->sa_family;
		err = cm_id_bind(id, src ? src : (struct sockaddr *)&any);
		if (err)
			goto free_event;
	}
	err = find_source(id, dst, &status);
	if (err)
		goto unbind;

	memset(&addr->dst_storage, 0, sizeof(addr->dst_storage));
	memcpy(&addr->dst_storage, dst, cm_addr_len(dst));
	if (status) {
		event->pub.event = RDMA_CM_EVENT_ADDR_ERROR;
		event->pub.status = status;
	} else {
		if (cm_addr_is_any(dst))
			addr->addr.ibaddr.dgid = addr->addr.ibaddr.sgid;
		else
			cm_addr_to_gid(dst, &addr->addr.ibaddr.dgid);
		id->state = CM_ADDR_RESOLVED;
	}
	cm_event_post(event);
	return 0;
unbind:
	if (was_idle)
		cm_id_unbind(id);
free_event:
	free(event);
	return err;
}

VB_API int rdma_resolve_addr(struct rdma_cm_id *pub, struct sockaddr *src_addr,
			     struct sockaddr *dst_addr, int timeout_ms)
{
	struct cm_id *id;
	int err;

	(void)timeout_ms; /* nothing here waits for a peer yet */
	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = start_resolve_addr(id, src_addr, dst_addr);
	cm_id_leave();
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}

/* The fastest rate a path record can name that the port reaches. */
static uint8_t port_rate(const struct ibv_port_attr *port)
{
	static const struct {
		int gbps;
		uint8_t rate;
	} rates[] = {
		{ 800, IBV_RATE_800_GBPS }, { 600, IBV_RATE_600_GBPS }, { 400, IBV_RATE_400_GBPS },
		{ 300, IBV_RATE_300_GBPS }, { 200, IBV_RATE_200_GBPS }, { 168, IBV_RATE_168_GBPS },
		{ 120, IBV_RATE_120_GBPS }, { 112, IBV_RATE_112_GBPS }, { 100, IBV_RATE_100_GBPS },
		{ 80, IBV_RATE_80_GBPS },   { 60, IBV_RATE_60_GBPS },   { 56, IBV_RATE_56_GBPS },
		{ 50, IBV_RATE_50_GBPS },   { 40, IBV_RATE_40_GBPS },   { 30, IBV_RATE_30_GBPS },
		{ 28, IBV_RATE_28_GBPS },   { 25, IBV_RATE_25_GBPS },   { 20, IBV_RATE_20_GBPS },
		{ 14, IBV_RATE_14_GBPS },   { 10, IBV_RATE_10_GBPS },   { 5, IBV_RATE_5_GBPS },
		{ 0, IBV_RATE_2_5_GBPS },
	};
	/* by the bit set in active_speed: Gbit/s × 10 of one lane; in active_width: lanes */
	static const int speeds[] = { 25, 50, 100, 100, 140, 250, 500, 1000 };
	static const int widths[] = { 1, 4, 8, 12, 2 };
	unsigned int speed = ffs(port->active_speed), width = ffs(port->active_width), i;
	int gbps;

	if (!speed || speed > array_size(speeds) || !width || width > array_size(widths))
		return IBV_RATE_MAX;
	gbps = speeds[speed - 1] * widths[width - 1] / 10;
	for (i = 0; rates[i].gbps > gbps; i++)
		;
	return rates[i].rate;
}

/* 0, or a negative status for the event. */
static int find_path(const struct cm_id *id, struct ibv_sa_path_rec *path)
{
	const struct rdma_ib_addr *ibaddr = &id->pub.route.addr.addr.ibaddr;
	struct sockaddr_ib dst = { .sib_family = AF_IB };
	struct ibv_port_attr port;
	char text[CM_ADDR_TEXT];
	struct cm_gid gid;
	int err;

	err = ibv_query_port(id->pub.verbs, id->pub.port_num, &port);
	if (err)
		return -err;
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET) {
		memcpy(dst.sib_addr.sib_raw, ibaddr->dgid.raw, sizeof(ibaddr->dgid.raw));
		if (cm_gid_find((struct sockaddr *)&dst, &gid))
			return explain(EHOSTUNREACH, "no port of this subnet has the GID of %s",
				       cm_addr_text((struct sockaddr *)&dst, text));
		path->slid = htobe16(port.lid);
		path->dlid = htobe16(gid.lid);
	} else {
		path->hop_limit = 64;
	}
	path->sgid = ibaddr->sgid;
	path->dgid = ibaddr->dgid;
	path->pkey = ibaddr->pkey;
	path->traffic_class = id->tos;
	path->reversible = 1;
	path->numb_path = 1;
	path->mtu_selector = SELECTOR_EXACTLY;
	path->mtu = port.active_mtu;
	path->rate_selector = SELECTOR_EXACTLY;
	path->rate = port_rate(&port);
	path->packet_life_time_selector = SELECTOR_EXACTLY;
	/* The ACK timeout of a QP is one more than the life time of packets. */
	path->packet_life_time =
		id->ack_timeout_set && id->ack_timeout ? id->ack_timeout - 1 : PACKET_LIFE_TIME;
	return 0;
}

static int check_routable(const struct cm_id *id)
{
	if (id->state == CM_ADDR_RESOLVED)
		return 0;
	return explain(EINVAL, "the id is %s; a route is resolved after rdma_resolve_addr, once",
		       cm_state_name(id->state));
}

int cm_id_set_route(struct cm_id *id, const struct ibv_sa_path_rec *path)
{
	struct ibv_sa_path_rec *own;
	struct cm_event *event;
	int err;

	err = check_routable(id);
	if (err)
		return err;
	event = cm_event_create(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	own = malloc(sizeof(*own));
	if (!event || !own) {
		free(event);
		free(own);
		return explain(ENOMEM, "no memory for a route");
	}
	*own = *path;
	free(id->pub.route.path_rec);
	id->pub.route.path_rec = own;
	id->pub.route.num_paths = 1;
	id->state = CM_ROUTE_RESOLVED;
	cm_event_post(event);
	return 0;
}

static int start_resolve_route(struct cm_id *id)
{
	struct ibv_sa_path_rec path = { 0 };
	struct cm_event *event;
	int err, status;

	err = check_routable(id);
	if (err)
		return err;
	status = find_path(id, &path);
	if (!status)
		return cm_id_set_route(id, &path);
	event = cm_event_create(id, RDMA_CM_EVENT_ROUTE_ERROR, status);
	if (!event)
		return -ENOMEM;
	cm_event_post(event);
	return 0;
}

VB_API int rdma_resolve_route(struct rdma_cm_id *pub, int timeout_ms)
{
	struct cm_id *id;
	int err;

	(void)timeout_ms;
	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	err = start_resolve_route(id);
	cm_id_leave();
	if (!err)
		err = cm_event_complete(id);
	return cm_result(err);
}
