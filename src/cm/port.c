/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port numbers: who owns which, and which are free. Conflicts follow the kernel's rdma_cm, down
 * to its choice of errno. Guarded by cm_lock.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "cm/id.h"
#include "cm/port.h"
#include "cm/sockaddr.h"
#include "util/explain.h"

#define CHAINS 256

LIST_HEAD(owners, cm_id);

static struct space {
	enum rdma_port_space ps;
	struct owners chains[CHAINS];
} spaces[] = {
	{ .ps = RDMA_PS_TCP },
	{ .ps = RDMA_PS_UDP },
	{ .ps = RDMA_PS_IPOIB },
	{ .ps = RDMA_PS_IB },
};

static struct owners *chain_of(enum rdma_port_space ps, uint16_t port)
{
	size_t i;

	for (i = 0; i < array_size(spaces) - 1; i++)
		if (spaces[i].ps == ps)
			break;
	return &spaces[i].chains[port % CHAINS];
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
	uint16_t port = cm_addr_port(addr);
	struct cm_id *other;
	int err;

	LIST_FOREACH(other, chain_of(ps, port), port_link) {
		if (other == id || cm_addr_port(&other->pub.route.addr.src_addr) != port)
			continue;
		if (may_share && id->reuse_addr && other->reuse_addr)
			continue;
		err = conflict(id, addr, other);
		if (err)
			return err;
	}
	return 0;
}

static bool port_is_free(enum rdma_port_space ps, uint16_t port)
{
	struct cm_id *other;

	LIST_FOREACH(other, chain_of(ps, port), port_link)
		if (cm_addr_port(&other->pub.route.addr.src_addr) == port)
			return false;
	return true;
}

/* The host's range for ports nobody asked for by number. */
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

		if (port_is_free(ps, port)) {
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

	if (cm_addr_port(addr))
		err = check_port(id, ps, addr, true);
	else
		err = pick_port(ps, addr);
	if (err)
		return err;
	LIST_INSERT_HEAD(chain_of(ps, cm_addr_port(addr)), id, port_link);
	id->port_space = ps;
	return 0;
}

int cm_port_check_listen(struct cm_id *id)
{
	if (!id->reuse_addr)
		return 0;
	return check_port(id, id->port_space, &id->pub.route.addr.src_addr, false);
}

void cm_port_release(struct cm_id *id)
{
	if (!id->port_space)
		return;
	LIST_REMOVE(id, port_link);
	id->port_space = 0;
}
