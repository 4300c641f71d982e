/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port numbers: the ids that own each, and the free ones. Conflicts follow the kernel's rdma_cm,
 * down to its choice of errno. Guarded by cm.lock.
 */
#include "cm/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "cm/id_types.h"
#include "cm/sockaddr.h"
#include "cm/state.h"
#include "util/explain.h"

#define PORTS 65536

LIST_HEAD(owners, cm_id);

/* One allocation of 2 MiB, of which the kernel gives only the pages with ports in use. */
struct cm_port_table {
	struct owners tcp[PORTS], udp[PORTS], ipoib[PORTS], ib[PORTS];
};

/* The owners of a port; the table must exist. */
static struct owners *owners_of(enum rdma_port_space ps, uint16_t port)
{
	switch (ps) {
	case RDMA_PS_TCP:
		return &cm.ports->tcp[port];
	case RDMA_PS_UDP:
		return &cm.ports->udp[port];
	case RDMA_PS_IPOIB:
		return &cm.ports->ipoib[port];
	default:
		return &cm.ports->ib[port];
	}
}

static int conflict(const struct cm_id *id, const struct sockaddr *addr, const struct cm_id *other)
{
	const struct sockaddr *theirs = &other->pub.route.addr.src_addr;
	char text[CM_ADDR_TEXT], their_text[CM_ADDR_TEXT];

	if (id->af_only && other->af_only && addr->sa_family != theirs->sa_family)
		return 0;
	if (cm_addr_is_any(addr) || cm_addr_is_any(theirs))
		return explain(EADDRNOTAVAIL,
			       "%s cannot be bound: an id of this process is bound to %s and a "
			       "wildcard covers the other",
			       cm_addr_text(addr, text), cm_addr_text(theirs, their_text));
	if (cm_addr_same_host(addr, theirs))
		return explain(EADDRINUSE,
			       "%s is taken by another id of this process; both would need "
			       "RDMA_OPTION_ID_REUSEADDR before they are bound",
			       cm_addr_text(addr, text));
	return 0;
}

static int check_port(const struct cm_id *id, enum rdma_port_space ps, const struct sockaddr *addr,
		      bool may_share)
{
	struct cm_id *other;
	int err;

	LIST_FOREACH(other, owners_of(ps, cm_addr_port(addr)), port_link) {
		if (other == id)
			continue;
		if (may_share && id->reuse_addr && other->reuse_addr)
			continue;
		err = conflict(id, addr, other);
		if (err)
			return err;
	}
	return 0;
}

/* The host's range of ephemeral ports. */
static void ephemeral_range(unsigned int *low, unsigned int *high)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	int n = f ? fscanf(f, "%u %u", low, high) : 0;

	if (f)
		fclose(f);
	if (n != 2 || *low < 1 || *high > 65535 || *low > *high) {
		*low = 32768;
		*high = 60999;
	}
}

static int pick_port(enum rdma_port_space ps, struct sockaddr *addr)
{
	unsigned int low, high, count, offset, i;

	ephemeral_range(&low, &high);
	count = high - low + 1;
	if (getrandom(&offset, sizeof(offset), GRND_NONBLOCK) != sizeof(offset))
		offset = 0;
	for (i = 0; i < count; i++) {
		uint16_t port = low + (offset + i) % count;

		if (LIST_EMPTY(owners_of(ps, port))) {
			cm_addr_set_port(addr, port);
			return 0;
		}
	}
	return explain(EADDRNOTAVAIL, "all ports from %u to %u are taken in port space 0x%x", low,
		       high, ps);
}

int cm_port_claim(struct cm_id *id, enum rdma_port_space ps, struct sockaddr *addr)
{
	int err;

	if (!cm.ports)
		cm.ports = calloc(1, sizeof(*cm.ports));
	if (!cm.ports)
		return explain(ENOMEM, "no memory for the table of ports");
	if (cm_addr_port(addr))
		err = check_port(id, ps, addr, true);
	else
		err = pick_port(ps, addr);
	if (err)
		return err;
	LIST_INSERT_HEAD(owners_of(ps, cm_addr_port(addr)), id, port_link);
	id->port_space = ps;
	return 0;
}

int cm_port_check_listen(struct cm_id *id)
{
	if (!id->reuse_addr)
		return 0;
	return check_port(id, id->port_space, &id->pub.route.addr.src_addr, false);
}

/* As the kernel's RDMA CM: a wildcard takes every family unless it is AFONLY. */
static bool listens_to(const struct cm_id *id, const struct sockaddr *dst)
{
	const struct sockaddr *own = &id->pub.route.addr.src_addr;

	if (id->state != CM_LISTEN)
		return false;
	if (own->sa_family == AF_IB || (cm_addr_is_any(own) && !id->af_only))
		return true;
	if (!dst || own->sa_family != dst->sa_family)
		return false;
	return cm_addr_is_any(own) || cm_addr_same_host(own, dst);
}

struct cm_id *cm_port_listener(enum rdma_port_space ps, uint16_t port, const struct sockaddr *dst)
{
	struct cm_id *id;

	if (!cm.ports)
		return NULL;
	LIST_FOREACH(id, owners_of(ps, port), port_link)
		if (listens_to(id, dst))
			return id;
	return NULL;
}

void cm_port_release(struct cm_id *id)
{
	if (!id->port_space)
		return;
	LIST_REMOVE(id, port_link);
	id->port_space = 0;
}
