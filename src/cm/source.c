/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which adapter port and source address reach a destination: the host's routing table decides, as for
 * sockets. cm.lock guards the ids.
 */
#include "cm/source.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cm/device.h"
#include "cm/sockaddr.h"
#include "util/explain.h"

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
 * Chooses the adapter port for an id bound to a wildcard or to loopback. `local`: the port that has dst; NULL:
 * none of this host. Returns 0 or a refusal; a missing adapter is not a refusal but *status.
 */
static int choose_port(const struct sockaddr *dst, const struct cm_gid *local, struct sockaddr *src,
		       struct cm_gid *gid, int *status)
{
	char text[CM_ADDR_TEXT];
	int err;

	*status = 0;
	if (cm_addr_is_any(dst)) {
		*status = cm_gid_first(dst->sa_family != AF_IB, gid);
		if (!*status)
			set_loopback(src);
	} else if (local) {
		/* an address of this host: it is its own source, unless the id is bound to loopback */
		uint16_t port = cm_addr_port(src);

		*gid = *local;
		if (dst->sa_family != AF_IB && cm_addr_is_any(src))
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

/*
 * The next hop. A source that no interface has, and a kernel that does not tell, need none. True: a
 * neighbour leads there.
 */
static bool find_hop(const struct sockaddr *src, const struct sockaddr *dst, struct cm_source *out)
{
	union ibv_gid from, to;
	uint32_t scope = 0;

	cm_addr_to_gid(src, &from);
	cm_addr_to_gid(dst, &to);
	if (cm_addr_is_link_local(dst))
		scope = ((const struct sockaddr_in6 *)dst)->sin6_scope_id;
	out->is_known = hca_neigh_route(scope, from.raw, to.raw, &out->hop) || out->hop.is_known;
	return !out->is_known;
}

/*
 * A loopback address that no port has, so that another GID would stand for it, perhaps of another kind than the source. A
 * bound id goes there by its own GID.
 */
static bool is_loopback_of_none(const struct sockaddr *dst, const struct cm_gid *local)
{
	union ibv_gid gid;

	if (!cm_addr_is_loopback(dst))
		return false;
	cm_addr_to_gid(dst, &gid);
	return !local || memcmp(local->gid.raw, gid.raw, sizeof(gid.raw)) != 0;
}

int cm_source_find(const struct cm_id *id, const struct sockaddr *dst, struct cm_source *out,
		   int *status)
{
	struct sockaddr *src = (struct sockaddr *)&out->addr;
	struct cm_gid local;
	bool is_local = !cm_addr_is_any(dst) && !cm_gid_find_listed(dst, &local);
	int err = 0;

	*status = 0;
	*out = (struct cm_source){ .addr = id->pub.route.addr.src_storage, .is_known = true };
	if (!id->device)
		err = choose_port(dst, is_local ? &local : NULL, src, &out->gid, status);
	if (err || *status)
		return err;
	/* This host. */
	if (cm_addr_is_any(dst) ||
	    (id->device && is_loopback_of_none(dst, is_local ? &local : NULL))) {
		out->dgid = id->device ? id->pub.route.addr.addr.ibaddr.sgid : out->gid.gid;
		return 0;
	}
	if (is_local) {
		out->dgid = local.gid;
		return 0;
	}
	cm_addr_to_gid(dst, &out->dgid);
	if (dst->sa_family == AF_IB)
		return 0;
	/* For a bound id the source is decided; without a neighbour there may be no route. */
	if (!find_hop(src, dst, out) && id->device) {
		err = route_source(dst, src);
		out->addr = id->pub.route.addr.src_storage;
	}
	return err;
}

int cm_source_apply(struct cm_id *id, const struct cm_source *source)
{
	struct rdma_addr *addr = &id->pub.route.addr;
	int err;

	if (source->gid.device) {
		err = cm_gid_attach(id, &source->gid);
		if (err)
			return err;
		addr->src_storage = source->addr;
	}
	addr->addr.ibaddr.dgid = source->dgid;
	return 0;
}
