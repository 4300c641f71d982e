/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_dest.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rsocket/dgram_qp.h"
#include "rsocket/service.h"
#include "rsocket/state.h"
#include "util/explain.h"

#define RESOLVE_MS 2000

static uint64_t hash_key(const union rs_addr *addr)
{
	uint64_t words[2] = { 0 };

	if (addr->sa.sa_family == AF_INET)
		return (uint64_t)addr->in.sin_addr.s_addr << 16 | addr->in.sin_port;
	memcpy(words, &addr->in6.sin6_addr, sizeof(words));
	return (words[0] ^ words[1]) + addr->in6.sin6_port;
}

static bool is_unspecific(const union rs_addr *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return addr->in.sin_addr.s_addr == htonl(INADDR_ANY) ||
		       addr->in.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
	return IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr) ||
	       IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr);
}

static int read_name(int fd, union rs_addr *local)
{
	union rs_addr name;
	socklen_t len = sizeof(name);

	if (getsockname(fd, &name.sa, &len))
		return -errno;
	return rs_addr_set(local, &name.sa, len);
}

/* The address by which the kernel would send to the peer; the port stays. */
static int ask_kernel(const union rs_addr *peer, union rs_addr *local)
{
	const in_port_t port = local->in.sin_port; /* at the same place in both families */
	int err = 0, fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, &peer->sa, rs_addr_len(peer)))
		err = -errno;
	if (!err)
		err = read_name(fd, local);
	local->in.sin_port = port;
	close(fd);
	return err;
}

/* A socket without a port gets one: the header of the first datagram carries it. */
static int find_local(struct rs_dgram *d, const union rs_addr *peer, union rs_addr *local)
{
	const int udp = d->base.entry.fd;
	union rs_addr any = { .sa.sa_family = d->base.domain };
	int err;

	*local = any;
	err = read_name(udp, local);

	if (!err && !local->in.sin_port) {
		if (bind(udp, &any.sa, rs_addr_len(&any)))
			return -errno;
		err = read_name(udp, local);
	}
	return err || !is_unspecific(local) ? err : ask_kernel(peer, local);
}

static struct rs_dest *find(struct rs_dgram *d, const union rs_addr *addr)
{
	struct hash_link *link = hash_find(&d->dests, hash_key(addr));

	for (; link; link = hash_next(link)) {
		struct rs_dest *dest =
			(struct rs_dest *)((char *)link - offsetof(struct rs_dest, by_addr));

		if (rs_addr_equal(&dest->addr, addr))
			return dest;
	}
	return NULL;
}

int rs_dest_get(struct rs_dgram *d, const union rs_addr *addr, struct rs_dest **out)
{
	struct rs_dest *dest = find(d, addr);
	struct rs_dgram_qp *qp;
	union rs_addr local;
	int err;

	if (dest) {
		*out = dest;
		return 0;
	}
	err = find_local(d, addr, &local);
	if (!err)
		err = rs_dgram_qp_get(d, &local, &qp);
	if (err)
		return err;
	dest = calloc(1, sizeof(*dest));
	if (!dest)
		return explain(ENOMEM, "no memory for a peer");
	dest->socket = d;
	dest->addr = *addr;
	dest->qp = qp;
	hash_add(&d->dests, &dest->by_addr, hash_key(addr));
	LIST_INSERT_HEAD(&d->all_dests, dest, link);
	*out = dest;
	return 0;
}

/* The entry of the port's GID table, RoCE v2 if there is a choice. */
static int find_gid(struct ibv_context *verbs, uint8_t port, const union ibv_gid *gid)
{
	struct ibv_port_attr attr;
	struct ibv_gid_entry entry;
	int found = -1;

	if (ibv_query_port(verbs, port, &attr))
		return 0;
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(verbs, port, i, &entry, 0) ||
		    memcmp(&entry.gid, gid, sizeof(*gid)))
			continue;
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			return i;
		if (found < 0)
			found = i;
	}
	return found < 0 ? 0 : found;
}

static void make_ah(struct rs_dest *dest)
{
	const struct rdma_cm_id *id = dest->id;
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct ibv_context *verbs = dest->qp->id->verbs;
	struct ibv_ah_attr attr = { .port_num = id->port_num };
	struct ibv_port_attr port;

	if (!id->route.num_paths || ibv_query_port(verbs, id->port_num, &port))
		return;
	attr.dlid = be16toh(path->dlid);
	attr.sl = path->sl;
	attr.src_path_bits = be16toh(path->slid) & ((1 << port.lmc) - 1);
	attr.static_rate = path->rate;
	if (path->hop_limit > 1 || port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.is_global = 1;
		attr.grh.dgid = path->dgid;
		attr.grh.flow_label = be32toh(path->flow_label);
		attr.grh.sgid_index = find_gid(verbs, id->port_num, &path->sgid);
		attr.grh.hop_limit = path->hop_limit;
		attr.grh.traffic_class = path->traffic_class;
	}
	if (dest->ah)
		ibv_destroy_ah(dest->ah);
	dest->ah = ibv_create_ah(dest->qp->id->pd, &attr);
}

static void destroy_id(void *id)
{
	rdma_destroy_id(id);
}

/* Without a way to the peer's queue pair its datagrams go on over UDP. */
static void resolved(struct rs_cm_owner *owner, const struct rdma_cm_event *event,
		     struct rs_cm_cleanup *cleanup)
{
	struct rs_dest *dest = (struct rs_dest *)((char *)owner - offsetof(struct rs_dest, owner));
	struct rs_dgram *d = dest->socket;
	bool over = true;

	pthread_mutex_lock(&d->base.lock);
	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED && !d->closed)
		over = rdma_resolve_route(dest->id, RESOLVE_MS);
	else if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED && !d->closed)
		make_ah(dest);
	if (over && dest->id) {
		*cleanup = (struct rs_cm_cleanup){ .run = destroy_id, .arg = dest->id };
		dest->id = NULL;
	}
	pthread_mutex_unlock(&d->base.lock);
}

void rs_dest_set_qpn(struct rs_dest *dest, uint32_t qpn)
{
	union rs_addr local = dest->qp->local;

	dest->qpn = qpn;
	/* The address handle is the host's, or is being made: another QP of the host needs no new one. */
	if (dest->id || dest->ah)
		return;
	local.in.sin_port = 0;
	dest->owner.event = resolved;
	if (rdma_create_id(rs_state.channel, &dest->id, &dest->owner, RDMA_PS_UDP)) {
		dest->id = NULL;
		return;
	}
	if (rdma_resolve_addr(dest->id, &local.sa, &dest->addr.sa, RESOLVE_MS)) {
		rdma_destroy_id(dest->id);
		dest->id = NULL;
	}
}

/*
 * Events are handled with the service lock held: an id that was taken out of its peer under that lock
 * is not destroyed by a handler. rdma_destroy_id() waits for handlers, so it is called without.
 */
void rs_dest_destroy_all(struct rs_dgram *d)
{
	struct rs_dest *dest, *next;

	for (dest = LIST_FIRST(&d->all_dests); dest; dest = next) {
		struct rdma_cm_id *id;

		next = LIST_NEXT(dest, link);
		rs_service_lock();
		id = dest->id;
		dest->id = NULL;
		rs_service_unlock();
		if (id)
			rdma_destroy_id(id);
		if (dest->ah)
			ibv_destroy_ah(dest->ah);
		free(dest);
	}
	LIST_INIT(&d->all_dests);
	hash_fini(&d->dests);
}
