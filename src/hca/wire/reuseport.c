/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/reuseport.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "fabric/registry.h"
#include "hca/hca.h"
#include "roce/addr.h"
#include "roce/endpoint.h"
#include "roce/reuseport.h"
#include "util/api.h"

enum {
	PROBES = 32,
	MAX_PROBES = 2048,
	MAX_TRIES = 6,
	MAX_MEMBERS = 256,
	SEARCH_AFTER = 4, /* misdelivered packets */
	MAX_ATTACHES = 8,
	NEW_INDEX_REACH = 16,
};
#define ANSWER_NS 5000000u   /* probes go through the kernel's loopback */
#define PAUSE_NS  100000000u /* between two searches */
#define CHECK_NS  1000000000u

void reuseport_misdelivered(uint64_t now_ns)
{
	uint32_t n = atomic_fetch_add_explicit(&hca.wire.reuseport.misdelivered, 1,
					       memory_order_relaxed) +
		     1;

	if (n % SEARCH_AFTER == 0)
		hca_wake_at(now_ns);
}

static bool find_index(const struct fabric_reg_entry *members, size_t count, fabric_id_t owner,
		       uint32_t *index)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].owner == owner) {
			*index = members[i].value;
			return true;
		}
	return false;
}

/* A failure only costs speed: packets are forwarded. */
static void attach_program(const struct reuseport *r, struct roce_endpoint *ep)
{
	struct {
		struct fabric_reg_entry member[MAX_MEMBERS];
		struct fabric_qpn_range range[ROCE_REUSEPORT_RANGES];
		struct roce_reuseport_range row[ROCE_REUSEPORT_RANGES];
	} *work = malloc(sizeof(*work));
	size_t members, ranges, rows = 0;

	if (!work)
		return;
	members = fabric_reg_find(FABRIC_REG_REUSEPORT, r->gid, 16, work->member, MAX_MEMBERS);
	if (members > MAX_MEMBERS)
		members = MAX_MEMBERS;
	ranges = fabric_qpn_ranges(work->range, ROCE_REUSEPORT_RANGES);
	for (size_t i = 0; i < ranges; i++) {
		struct roce_reuseport_range *row = &work->row[rows];

		if (!find_index(work->member, members, work->range[i].owner, &row->index))
			continue;
		row->first = work->range[i].first;
		row->last = work->range[i].last;
		rows++;
	}
	roce_reuseport_attach(ep, work->row, rows, 0);
	free(work);
}

/* A process that was killed may be listed for long. */
static bool has_neighbours(const struct reuseport *r)
{
	struct fabric_reg_entry member[16];
	size_t n = fabric_reg_find(FABRIC_REG_REUSEPORT, r->gid, 16, member, array_size(member));

	for (size_t i = 0; i < n && i < array_size(member); i++)
		if (member[i].owner != fabric_self() && fabric_process_alive(member[i].owner))
			return true;
	return n > array_size(member);
}

/* Another process may have been listed, and have attached its program, while this one was made. */
static void attach_current_program(const struct reuseport *r, struct roce_endpoint *ep)
{
	uint64_t seen;
	int tries = 0;

	do {
		seen = fabric_reg_version(FABRIC_REG_REUSEPORT);
		attach_program(r, ep);
	} while (fabric_reg_version(FABRIC_REG_REUSEPORT) != seen && ++tries < MAX_ATTACHES);
}

static void unlist(struct reuseport *r)
{
	if (r->listed)
		fabric_reg_del(FABRIC_REG_REUSEPORT, r->gid, sizeof(r->gid), r->index);
	r->listed = false;
}

static void list(struct reuseport *r, uint32_t index)
{
	if (r->listed && r->index == index)
		return;
	if (r->listed)
		r->listed = !fabric_reg_change(FABRIC_REG_REUSEPORT, r->gid, sizeof(r->gid),
					       r->index, index);
	else
		r->listed =
			!fabric_reg_add(FABRIC_REG_REUSEPORT, r->gid, sizeof(r->gid), index, false);
	r->index = index;
}

/*
 * Once this process is listed. An index above 0 means that there is another socket, even if the
 * directory does not list it (any more).
 */
static void attach_or_detach(struct reuseport *r, struct roce_endpoint *ep)
{
	r->version = fabric_reg_version(FABRIC_REG_REUSEPORT);
	r->shared = has_neighbours(r);
	if (!r->shared && r->listed && r->known && r->index == 0 && !roce_reuseport_detach(ep)) {
		/* A process that was not listed by then attaches a program after this detach. */
		r->shared = has_neighbours(r);
		if (!r->shared)
			return;
	}
	/* Datagrams for other processes may arrive here. */
	roce_endpoint_enable_ttl(ep);
	attach_current_program(r, ep);
}

static void search(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns)
{
	r->misdelivered =
		atomic_load_explicit(&hca.wire.reuseport.misdelivered, memory_order_relaxed);
	r->probing = true;
	r->due_ns = now_ns + ANSWER_NS;
	attach_current_program(r, ep); /* probes are answered by a program only */
	roce_reuseport_probe(ep, r->count);
	hca_wake_at(r->due_ns);
}

static void know(struct reuseport *r, struct roce_endpoint *ep, uint32_t index)
{
	r->probing = false;
	r->known = true;
	list(r, index);
	attach_or_detach(r, ep);
}

void reuseport_announce(struct reuseport *r, const struct roce_addr *addr)
{
	*r = (struct reuseport){ .count = PROBES };
	memcpy(r->gid, addr->gid, sizeof(r->gid));
	list(r, 0); /* a process that does not find this entry is found by has_neighbours() */
}

/*
 * A new socket is the last of its group, so its index is about the number of processes that were listed
 * before. Two of them have attached a program. A search through all indexes would wake up all processes,
 * and a thousand processes that start would send a million probes.
 */
static bool find_last_index(struct reuseport *r, struct roce_endpoint *ep, uint32_t *index)
{
	size_t n = fabric_reg_find(FABRIC_REG_REUSEPORT, r->gid, sizeof(r->gid), NULL, 0);

	if (r->count < n + PROBES) /* if this fails */
		r->count = n + PROBES > MAX_PROBES ? MAX_PROBES : (uint32_t)n + PROBES;
	return n >= 3 && !roce_reuseport_find(ep, (uint32_t)n - 1, NEW_INDEX_REACH, index);
}

/*
 * Before a QP of this process can receive packets: in the socket of another process they would be lost
 * if that process died. Until the program is attached, packets of another process that was alone may
 * arrive here.
 */
void reuseport_begin(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t index;

	if (find_last_index(r, ep, &index)) {
		know(r, ep, index);
		return;
	}
	search(r, ep, now_ns);
	roce_reuseport_read_probes(ep);
	if (!roce_reuseport_index(ep, &index))
		know(r, ep, index); /* otherwise later */
}

void reuseport_end(struct reuseport *r)
{
	unlist(r);
}

/* The time for answers is over. */
static void conclude(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t index = 0;

	r->known = !roce_reuseport_index(ep, &index);
	/* More sockets than probes, or late answers. */
	if (!r->known && ++r->tries < MAX_TRIES) {
		r->count = r->count * 4 > MAX_PROBES ? MAX_PROBES : r->count * 4;
		search(r, ep, now_ns);
		return;
	}
	list(r, index);
	r->probing = false;
	r->tries = 0;
	r->count = PROBES;
	r->due_ns = now_ns + PAUSE_NS;
	attach_or_detach(r, ep);
}

/* Processes came or went. New ones attach a program; the last one detaches it. */
static void check_neighbours(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint64_t version = fabric_reg_version(FABRIC_REG_REUSEPORT);

	if (likely(version == r->version && (!r->shared || now_ns < r->check_ns)))
		return;
	r->check_ns = now_ns + CHECK_NS;
	r->version = version;
	r->shared = has_neighbours(r);
	if (r->shared) {
		roce_endpoint_enable_ttl(ep);
		return;
	}
	if (r->index == 0)
		attach_or_detach(r, ep);
	else
		search(r, ep, now_ns); /* the index has changed */
}

uint64_t reuseport_run(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t misdelivered =
		atomic_load_explicit(&hca.wire.reuseport.misdelivered, memory_order_relaxed);

	if (r->probing || misdelivered - r->misdelivered >= SEARCH_AFTER) {
		if (now_ns >= r->due_ns) {
			if (r->probing)
				conclude(r, ep, now_ns);
			else
				search(r, ep, now_ns);
		}
	} else {
		check_neighbours(r, ep, now_ns);
	}
	return r->probing ? r->due_ns : UINT64_MAX;
}
