/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port numbers: the ids of this process that own each, the claims of other processes on them in the
 * host directory, and the free ones. Conflicts follow the kernel's rdma_cm, down to its choice of
 * errno. Guarded by cm.lock; between processes by the lock of the host directory.
 */
#include "cm/port.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cm/device.h"
#include "cm/id_types.h"
#include "cm/sockaddr.h"
#include "cm/state.h"
#include "fabric/claims.h"
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

/* The members that decide a conflict, of an id or of a claim that another process has on the port. */
struct binding {
	struct sockaddr_storage addr;
	bool reuse_addr;
	bool af_only;
	bool is_foreign;
};

enum {
	CLAIM_REUSE = 1,
	CLAIM_AF_ONLY = 2,
	CLAIM_FAMILY_SHIFT = 16,
};

static struct binding binding_of(const struct cm_id *id, const struct sockaddr *addr)
{
	struct binding b = { .reuse_addr = id->reuse_addr, .af_only = cm_port_af_only(id, addr) };

	memcpy(&b.addr, addr, cm_addr_len(addr));
	return b;
}

static uint32_t claim_flags(const struct binding *b)
{
	return (b->reuse_addr ? CLAIM_REUSE : 0) | (b->af_only ? CLAIM_AF_ONLY : 0) |
	       (uint32_t)b->addr.ss_family << CLAIM_FAMILY_SHIFT;
}

static struct fabric_claim claim_of(const struct binding *b, enum rdma_port_space ps)
{
	const struct sockaddr *addr = (const struct sockaddr *)&b->addr;
	struct fabric_claim claim = { .number = (uint32_t)ps << 16 | cm_addr_port(addr) };
	union ibv_gid gid;

	claim.flags = claim_flags(b);
	if (!cm_addr_is_any(addr)) {
		cm_addr_to_gid(addr, &gid);
		memcpy(claim.addr, gid.raw, sizeof(claim.addr));
	}
	if (addr->sa_family == AF_INET6)
		claim.scope = ((const struct sockaddr_in6 *)addr)->sin6_scope_id;
	return claim;
}

static struct binding binding_of_claim(const struct fabric_claim *claim)
{
	struct binding b = {
		.reuse_addr = claim->flags & CLAIM_REUSE,
		.af_only = claim->flags & CLAIM_AF_ONLY,
		.is_foreign = true,
	};
	union ibv_gid gid;

	memcpy(gid.raw, claim->addr, sizeof(gid.raw));
	cm_addr_from_gid(claim->flags >> CLAIM_FAMILY_SHIFT, &gid, claim->scope, &b.addr);
	cm_addr_set_port((struct sockaddr *)&b.addr, (uint16_t)claim->number);
	return b;
}

static int conflict(const struct binding *own, const struct binding *other, bool may_share)
{
	const struct sockaddr *addr = (const struct sockaddr *)&own->addr;
	const struct sockaddr *theirs = (const struct sockaddr *)&other->addr;
	const char *whose = other->is_foreign ? "another process" : "this process";
	char text[CM_ADDR_TEXT], their_text[CM_ADDR_TEXT];

	if (may_share && own->reuse_addr && other->reuse_addr)
		return 0;
	if (own->af_only && other->af_only && addr->sa_family != theirs->sa_family)
		return 0;
	if (cm_addr_is_any(addr) || cm_addr_is_any(theirs))
		return explain(EADDRNOTAVAIL,
			       "%s cannot be bound: an id of %s is bound to %s and a wildcard "
			       "covers the other",
			       cm_addr_text(addr, text), whose, cm_addr_text(theirs, their_text));
	if (cm_addr_same_host(addr, theirs))
		return explain(EADDRINUSE,
			       "%s is taken by an id of %s; both would need "
			       "RDMA_OPTION_ID_REUSEADDR, and neither may listen",
			       cm_addr_text(addr, text), whose);
	return 0;
}

static int check_own(const struct cm_id *id, enum rdma_port_space ps, const struct binding *b,
		     bool may_share)
{
	struct cm_id *other;
	int err;

	LIST_FOREACH(other, owners_of(ps, cm_addr_port((const struct sockaddr *)&b->addr)),
		     port_link) {
		struct binding theirs;

		if (other == id)
			continue;
		theirs = binding_of(other, &other->pub.route.addr.src_addr);
		err = conflict(b, &theirs, may_share);
		if (err)
			return err;
	}
	return 0;
}

/* ---- claims of other processes: struct fabric_claim_check ---- */

static int refuse_bind(const struct fabric_claim *claim, void *arg)
{
	const struct binding theirs = binding_of_claim(claim);

	return conflict(arg, &theirs, true);
}

static int refuse_listen(const struct fabric_claim *claim, void *arg)
{
	const struct binding theirs = binding_of_claim(claim);

	return conflict(arg, &theirs, false);
}

static int refuse_any(const struct fabric_claim *claim, void *arg)
{
	(void)claim;
	(void)arg;
	return -EADDRINUSE;
}

static int refuse_none(const struct fabric_claim *claim, void *arg)
{
	(void)claim;
	(void)arg;
	return 0;
}

/* Without an adapter no other process can be met, and none is asked. */
static int claim_port(struct cm_id *id, enum rdma_port_space ps, struct binding *b,
		      int (*refuse)(const struct fabric_claim *claim, void *arg))
{
	const struct fabric_claim_check check = { .refuse = refuse, .arg = b };
	const struct fabric_claim claim = claim_of(b, ps);

	if (!cm_device_next(NULL))
		return 0;
	return fabric_claim_add(&claim, &check, &id->claim);
}

/* ---- the choice of a port ---- */

/* Of a file that holds one or two numbers. */
static int read_numbers(const char *path, unsigned int *a, unsigned int *b)
{
	FILE *f = fopen(path, "re");
	int n = f ? fscanf(f, "%u %u", a, b) : 0;

	if (f)
		fclose(f);
	return n;
}

/* The host's range of ephemeral ports. */
static void ephemeral_range(unsigned int *low, unsigned int *high)
{
	if (read_numbers("/proc/sys/net/ipv4/ip_local_port_range", low, high) != 2 || *low < 1 ||
	    *high > 65535 || *low > *high) {
		*low = 32768;
		*high = 60999;
	}
}

static int pick_port(struct cm_id *id, enum rdma_port_space ps, struct sockaddr *addr)
{
	unsigned int low, high, count, offset, i;
	struct binding b;
	int err;

	ephemeral_range(&low, &high);
	count = high - low + 1;
	if (getrandom(&offset, sizeof(offset), GRND_NONBLOCK) != sizeof(offset))
		offset = 0;
	offset %= count;
	for (i = 0; i < count; i++) {
		uint16_t port = low + (offset + i) % count;

		if (!LIST_EMPTY(owners_of(ps, port)))
			continue;
		cm_addr_set_port(addr, port);
		b = binding_of(id, addr);
		err = claim_port(id, ps, &b, refuse_any);
		if (err != -EADDRINUSE)
			return err;
	}
	return explain(EADDRNOTAVAIL, "all ports from %u to %u are taken in port space 0x%x", low,
		       high, ps);
}

static bool may_bind_privileged(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &header, data) &&
	       (data[0].effective & 1u << CAP_NET_BIND_SERVICE);
}

static int check_privilege(uint16_t port)
{
	unsigned int first = 1024, unused;

	if (port >= first)
		return 0;
	read_numbers("/proc/sys/net/ipv4/ip_unprivileged_port_start", &first, &unused);
	if (port >= first || may_bind_privileged())
		return 0;
	return explain(EACCES, "port %u needs CAP_NET_BIND_SERVICE; ports from %u on do not", port,
		       first);
}

static int take_port(struct cm_id *id, enum rdma_port_space ps, const struct sockaddr *addr)
{
	struct binding b = binding_of(id, addr);
	int err;

	err = check_privilege(cm_addr_port(addr));
	if (!err)
		err = check_own(id, ps, &b, true);
	if (!err)
		err = claim_port(id, ps, &b, refuse_bind);
	return err;
}

int cm_port_claim(struct cm_id *id, enum rdma_port_space ps, struct sockaddr *addr)
{
	int err;

	if (!cm.ports)
		cm.ports = calloc(1, sizeof(*cm.ports));
	if (!cm.ports)
		return explain(ENOMEM, "no memory for the table of ports");
	if (cm_addr_port(addr))
		err = take_port(id, ps, addr);
	else
		err = pick_port(id, ps, addr);
	if (err)
		return err;
	LIST_INSERT_HEAD(owners_of(ps, cm_addr_port(addr)), id, port_link);
	id->port_space = ps;
	return 0;
}

bool cm_port_af_only(const struct cm_id *id, const struct sockaddr *addr)
{
	return id->af_only || addr->sa_family == AF_INET;
}

/* The flags of the claim become those of the id, with REUSEADDR as given. */
static int update_claim(struct cm_id *id, bool reuse_addr,
			int (*refuse)(const struct fabric_claim *claim, void *arg))
{
	struct binding b = binding_of(id, &id->pub.route.addr.src_addr);
	const struct fabric_claim_check check = { .refuse = refuse, .arg = &b };

	if (!id->claim)
		return 0;
	b.reuse_addr = reuse_addr;
	return fabric_claim_set_flags(id->claim, claim_flags(&b), &check);
}

int cm_port_listen(struct cm_id *id)
{
	const struct binding b = binding_of(id, &id->pub.route.addr.src_addr);
	int err;

	if (!id->reuse_addr)
		return 0;
	err = check_own(id, id->port_space, &b, false);
	if (!err)
		err = update_claim(id, false, refuse_listen);
	if (!err)
		id->reuse_addr = false;
	return err;
}

void cm_port_update(struct cm_id *id)
{
	if (id->port_space)
		update_claim(id, id->reuse_addr, refuse_none);
}

/* Without the scope, which requests do not carry. */
static bool is_addressed(const struct sockaddr *own, const struct sockaddr *dst)
{
	union ibv_gid a, b;

	cm_addr_to_gid(own, &a);
	cm_addr_to_gid(dst, &b);
	return !memcmp(&a, &b, sizeof(a));
}

/* As the kernel's RDMA CM: a wildcard takes every family unless it is AFONLY. */
static bool listens_to(const struct cm_id *id, const struct sockaddr *dst)
{
	const struct sockaddr *own = &id->pub.route.addr.src_addr;

	if (id->state != CM_LISTEN)
		return false;
	if (own->sa_family == AF_IB || (cm_addr_takes_all(own) && !cm_port_af_only(id, own)))
		return true;
	if (!dst || own->sa_family != dst->sa_family)
		return false;
	return cm_addr_takes_all(own) || is_addressed(own, dst);
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
	if (id->claim)
		fabric_claim_remove(id->claim);
	id->claim = 0;
	id->port_space = 0;
}
