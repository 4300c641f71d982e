/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/reuseport.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "roce/endpoint.h"
#include "roce/reuseport.h"
#include "util/api.h"

enum {
	PROBES = 32,
	MOST_PROBES = 1024,
	MOST_TRIES = 6,
	MOST_MEMBERS = 256,
	STRAYS = 4, /* that are worth a search */
	HAND_OVERS = 8,
};
#define ANSWER_NS 5000000u   /* probes go through the kernel's loopback */
#define PAUSE_NS  100000000u /* between two searches */
#define LOOK_NS   1000000000u

static _Atomic uint32_t reuseport_strays;

void reuseport_stray(uint64_t now_ns)
{
	uint32_t n = atomic_fetch_add_explicit(&reuseport_strays, 1, memory_order_relaxed) + 1;

	if (n % STRAYS == 0)
		fabric_service_set_deadline(now_ns);
}

static bool place_of(const struct fabric_reg_entry *members, size_t count, fabric_id_t owner,
		     uint32_t *index)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].owner == owner) {
			*index = members[i].value;
			return true;
		}
	return false;
}

/* What is refused costs speed only: packets are passed on. */
static void make_program(struct roce_endpoint *ep)
{
	struct {
		struct fabric_reg_entry member[MOST_MEMBERS];
		struct fabric_qpn_range range[ROCE_REUSEPORT_RANGES];
		struct roce_reuseport_range row[ROCE_REUSEPORT_RANGES];
	} *work = malloc(sizeof(*work));
	size_t members, ranges, rows = 0;

	if (!work)
		return;
	members = fabric_reg_find(FABRIC_REG_STEER, roce_endpoint_addr(ep)->gid, 16, work->member,
				  MOST_MEMBERS);
	if (members > MOST_MEMBERS)
		members = MOST_MEMBERS;
	ranges = fabric_qpn_ranges(work->range, ROCE_REUSEPORT_RANGES);
	for (size_t i = 0; i < ranges; i++) {
		struct roce_reuseport_range *row = &work->row[rows];

		if (!place_of(work->member, members, work->range[i].owner, &row->index))
			continue;
		row->first = work->range[i].first;
		row->last = work->range[i].last;
		rows++;
	}
	roce_reuseport_attach(ep, work->row, rows, 0);
	free(work);
}

/* Who was killed may be listed for long. */
static bool has_neighbours(struct roce_endpoint *ep)
{
	struct fabric_reg_entry member[16];
	size_t n = fabric_reg_find(FABRIC_REG_STEER, roce_endpoint_addr(ep)->gid, 16, member,
				   array_size(member));

	for (size_t i = 0; i < n && i < array_size(member); i++)
		if (member[i].owner != fabric_self() && fabric_process_alive(member[i].owner))
			return true;
	return n > array_size(member);
}

/* Somebody may have been listed, and handed over a better one, while ours was made. */
static void hand_over_program(struct roce_endpoint *ep)
{
	uint64_t seen;
	int tries = 0;

	do {
		seen = fabric_reg_version(FABRIC_REG_STEER);
		make_program(ep);
	} while (fabric_reg_version(FABRIC_REG_STEER) != seen && ++tries < HAND_OVERS);
}

static void unlist(struct reuseport *s, struct roce_endpoint *ep)
{
	if (s->listed)
		fabric_reg_del(FABRIC_REG_STEER, roce_endpoint_addr(ep)->gid, 16, s->index);
	s->listed = false;
}

static void list(struct reuseport *s, struct roce_endpoint *ep, uint32_t index)
{
	if (s->listed && s->index == index)
		return;
	unlist(s, ep);
	s->index = index;
	s->listed =
		!fabric_reg_add(FABRIC_REG_STEER, roce_endpoint_addr(ep)->gid, 16, index, false);
}

/*
 * Once we are listed. A socket in front of ours is somebody's whom the directory does not know, or not any
 * more: then we are not alone.
 */
static void settle(struct reuseport *s, struct roce_endpoint *ep)
{
	s->version = fabric_reg_version(FABRIC_REG_STEER);
	s->shared = has_neighbours(ep);
	if (!s->shared && s->listed && s->known && s->index == 0 && !roce_reuseport_detach(ep)) {
		/* Who was not listed by now brings a program after we took away what there was. */
		s->shared = has_neighbours(ep);
		if (!s->shared)
			return;
	}
	/* Datagrams of theirs may come to us. */
	roce_endpoint_enable_ttl(ep);
	hand_over_program(ep);
}

static void search(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns)
{
	s->strays = atomic_load_explicit(&reuseport_strays, memory_order_relaxed);
	s->probing = true;
	s->due = now_ns + ANSWER_NS;
	hand_over_program(ep); /* without one there is nobody to answer probes */
	roce_reuseport_probe(ep, s->count);
	fabric_service_set_deadline(s->due);
}

/*
 * Before there is a queue pair for packets to come to, so that none of them goes astray: in the
 * socket of another process they would be lost if that one died. Until the program is there, those of
 * others come to us, who had none as long as they were alone: no time is to be lost.
 */
void reuseport_begin(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t index;

	*s = (struct reuseport){ .count = PROBES };
	if (has_neighbours(ep))
		hand_over_program(ep);
	list(s, ep, 0); /* whoever does not see this is seen by us */
	search(s, ep, now_ns);
	roce_reuseport_read_probes(ep);
	if (roce_reuseport_index(ep, &index))
		return; /* later */
	s->probing = false;
	s->known = true;
	list(s, ep, index);
	settle(s, ep);
}

void reuseport_end(struct reuseport *s, struct roce_endpoint *ep)
{
	unlist(s, ep);
}

/* The time for answers is over. */
static void conclude(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t index = 0;

	s->known = !roce_reuseport_index(ep, &index);
	/* Too many of us, or the answers are late. */
	if (!s->known && ++s->tries < MOST_TRIES) {
		s->count = s->count * 4 > MOST_PROBES ? MOST_PROBES : s->count * 4;
		search(s, ep, now_ns);
		return;
	}
	list(s, ep, index);
	s->probing = false;
	s->tries = 0;
	s->count = PROBES;
	s->due = now_ns + PAUSE_NS;
	settle(s, ep);
}

/* Somebody came or went. Those who come bring a program; who is left alone takes it away. */
static void look(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint64_t version = fabric_reg_version(FABRIC_REG_STEER);

	if (likely(version == s->version && (!s->shared || now_ns < s->look_ns)))
		return;
	s->look_ns = now_ns + LOOK_NS;
	s->version = version;
	s->shared = has_neighbours(ep);
	if (s->shared) {
		roce_endpoint_enable_ttl(ep);
		return;
	}
	if (s->index == 0)
		settle(s, ep);
	else
		search(s, ep, now_ns); /* others have made room for us */
}

uint64_t reuseport_run(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns)
{
	uint32_t strays = atomic_load_explicit(&reuseport_strays, memory_order_relaxed);

	if (s->probing || strays - s->strays >= STRAYS) {
		if (now_ns >= s->due) {
			if (s->probing)
				conclude(s, ep, now_ns);
			else
				search(s, ep, now_ns);
		}
	} else {
		look(s, ep, now_ns);
	}
	return s->probing ? s->due : UINT64_MAX;
}
