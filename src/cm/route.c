/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths to resolved addresses. There is no subnet manager to ask: on Ethernet a path is what the port
 * is, on InfiniBand the LIDs come from the host directory. So the outcome is known at once and posted
 * as an event. cm.lock guards the ids.
 */
#include "cm/route.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/device.h"
#include "cm/gid.h"
#include "cm/id.h"
#include "cm/result.h"
#include "cm/sockaddr.h"
#include "util/explain.h"

/* 4.096 us × 2^18, about a second: the kernel's default on Ethernet. */
#define PACKET_LIFE_TIME 18
#define SELECTOR_EXACTLY 2
#define FLOW_LABEL_MASK  0xfffffu

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
	static const int speeds[] = { 25, 50, 100, 100, 140, 250, 500, 1000, 2000 };
	static const int widths[] = { 1, 4, 8, 12, 2 };
	unsigned int speed = ffs((int)port->active_speed_ex), width = ffs(port->active_width), i;
	int gbps;

	if (!speed || speed > array_size(speeds) || !width || width > array_size(widths))
		return IBV_RATE_MAX;
	gbps = speeds[speed - 1] * widths[width - 1] / 10;
	for (i = 0; rates[i].gbps > gbps; i++)
		;
	return rates[i].rate;
}

/*
 * The flow label of an IPv6 address, or a hash of the ports, as the kernel's RDMA CM has it: the flows of a host's connections
 * differ.
 */
static uint32_t flow_label(const struct rdma_addr *addr)
{
	const struct sockaddr_in6 *src = (const struct sockaddr_in6 *)&addr->src_addr;
	uint32_t label = 0;

	if (addr->src_addr.sa_family == AF_INET6)
		label = be32toh(src->sin6_flowinfo) & FLOW_LABEL_MASK;
	if (!label)
		label = cm_addr_port(&addr->src_addr) * 31u + cm_addr_port(&addr->dst_addr);
	return label & FLOW_LABEL_MASK;
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
		path->flow_label = htobe32(flow_label(&id->pub.route.addr));
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
