/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/place.h"

#include <stdlib.h>
#include <string.h>

#include "roce/opcode.h"

#define STREAMS 512u /* a power of two */
#define DEPTH   512u /* likewise: packets that may be on their way and come again */

/*
 * What is seen: requests on the wire, or answers; when they come in; requests at the responder. With
 * one seed at both ends, what one end loses is not what the other end would lose.
 */
enum { AS_REQUEST = 0, AS_ANSWER = 1, AS_ARRIVING = 2, AS_ACCEPTED = 4, KINDS = 8 };

struct seen {
	uint32_t packet; /* + 1; 0: none yet */
	uint16_t times;
	bool hit;
};

/* The requests of one direction of a connection, and the answers to them. */
struct stream {
	uint64_t key;   /* 0: free */
	uint32_t order; /* the how manyeth it is, from 1 */
	bool begun;
	uint32_t first;    /* PSN of the first request */
	struct seen *seen; /* [KINDS][DEPTH] */
};

struct roce_places {
	uint32_t used, order;
	struct stream stream[STREAMS];
};

struct roce_places *roce_places_create(void)
{
	return calloc(1, sizeof(struct roce_places));
}

void roce_places_destroy(struct roce_places *p)
{
	for (uint32_t i = 0; p && i < STREAMS; i++)
		free(p->stream[i].seen);
	free(p);
}

static uint32_t hash_of(const struct roce_addr *peer)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; peer && i < sizeof(peer->gid); i++)
		h = (h ^ peer->gid[i]) * 16777619u;
	return h | 1;
}

/* Datagrams are numbered by who sends them; connections by ours of the two queue pairs. */
static uint64_t key_of(const struct roce_pkt *pkt, bool leaves, bool request,
		       const struct roce_addr *peer)
{
	bool datagram = (pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD;
	uint32_t qpn = leaves || datagram ? pkt->sqpn : pkt->dqpn;
	uint64_t whose = datagram && !leaves ? hash_of(peer) : 0;

	return whose << 32 | (qpn & PSN_MASK) << 2 | (leaves == request) << 1 | 1;
}

static struct stream *at(struct roce_places *p, uint64_t key)
{
	uint32_t from = (uint32_t)(key >> 32 ^ key >> 1) * 0x9e3779b1u >> 16;

	for (uint32_t i = 0; i < STREAMS; i++) {
		struct stream *s = &p->stream[(from + i) & (STREAMS - 1)];

		if (!s->key || s->key == key)
			return s;
	}
	return NULL;
}

static struct stream *stream_of(struct roce_places *p, uint64_t key)
{
	struct stream *s = at(p, key);

	if (!s || (!s->key && p->used > STREAMS / 2))
		return NULL;
	if (!s->seen) {
		s->seen = calloc(KINDS * DEPTH, sizeof(*s->seen));
		if (!s->seen)
			return NULL;
	}
	if (!s->key) {
		s->key = key;
		p->used++;
	}
	if (!s->order)
		s->order = ++p->order;
	return s;
}

void roce_place_forget(struct roce_places *p, uint32_t qpn)
{
	for (uint32_t own = 0; own < 2; own++) {
		uint64_t key = (qpn & PSN_MASK) << 2 | own << 1 | 1;
		struct stream *s = at(p, key);

		if (!s || s->key != key)
			continue;
		s->order = 0;
		s->begun = false;
		if (s->seen)
			memset(s->seen, 0, KINDS * DEPTH * sizeof(*s->seen));
	}
}

/*
 * A packet that has made room for a newer one counts as one that came before; that a place is still an
 * older one's says that this one was left out so far.
 */
static void note(struct seen *seen, uint32_t packet, struct roce_seat *out)
{
	uint32_t old = seen->packet - 1;

	out->again = false;
	if (!seen->packet || psn_diff(packet, old) > 0) {
		*seen = (struct seen){ .packet = packet + 1 };
	} else if (old == packet) {
		out->again = !seen->hit;
	} else {
		out->again = true;
		/* Packets that contend for a place must not meet the same fate again and again. */
		*seen = (struct seen){ packet + 1, seen->times + 1, false };
	}
	out->packet = packet;
	out->times = seen->times++;
	out->hit = &seen->hit;
}

bool roce_place_find(struct roce_places *p, bool accepted, enum roce_dir dir,
		     const struct roce_pkt *pkt, const struct roce_addr *peer,
		     struct roce_seat *out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);
	bool leaves = dir == ROCE_DIR_OUT, request = !info || info->request;
	unsigned int kind = (request ? AS_REQUEST : AS_ANSWER) | (leaves ? 0 : AS_ARRIVING) |
			    (accepted ? AS_ACCEPTED : 0);
	struct stream *s = stream_of(p, key_of(pkt, leaves, request, peer));
	uint32_t packet;

	if (!s)
		return false;
	if (!s->begun) {
		s->first = pkt->psn;
		s->begun = request;
	}
	packet = (pkt->psn - s->first) & PSN_MASK;
	note(&s->seen[kind * DEPTH + (packet & (DEPTH - 1))], packet, out);
	out->connection = s->order;
	out->number = (uint64_t)out->times << 48 | (uint64_t)((s->order - 1) & 0xfffff) << 27 |
		      (uint64_t)kind << 24 | packet;
	return true;
}
