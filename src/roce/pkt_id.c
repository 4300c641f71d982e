/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/pkt_id.h"

#include <stdlib.h>
#include <string.h>

#include "roce/opcode.h"

/* Both are powers of two. */
#define STREAMS 512u
#define DEPTH   512u /* packets that may be in flight and be sent again */

/*
 * A packet is counted separately as request or response, sent or received, at a socket or at the responder.
 * So with one seed at both ends, the two ends do not lose the same packets.
 */
enum { AS_REQUEST = 0, AS_RESPONSE = 1, AS_RECEIVED = 2, AS_ACCEPTED = 4, KINDS = 8 };

struct seen {
	uint32_t packet; /* + 1; 0: none yet */
	uint16_t times;
	bool lost;
};

/* The requests of one direction of a connection, and the responses to them. */
struct stream {
	uint64_t key;   /* 0: free */
	uint32_t order; /* number of the stream, from 1, by first packet */
	bool begun;
	uint32_t first;    /* PSN of the first request */
	struct seen *seen; /* [KINDS][DEPTH] */
};

struct roce_pkt_ids {
	uint32_t used, order;
	struct stream stream[STREAMS]; /* hash table with open addressing */
};

struct roce_pkt_ids *roce_pkt_ids_create(void)
{
	return calloc(1, sizeof(struct roce_pkt_ids));
}

void roce_pkt_ids_destroy(struct roce_pkt_ids *p)
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

/* A datagram stream is identified by its sender, a connection by the local QP. */
static uint64_t key_of(const struct roce_pkt *pkt, bool out, bool request,
		       const struct roce_addr *peer)
{
	bool datagram = (pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD;
	uint32_t qpn = out || datagram ? pkt->sqpn : pkt->dqpn;
	uint64_t sender = datagram && !out ? hash_of(peer) : 0;

	return sender << 32 | (qpn & PSN_MASK) << 2 | (out == request) << 1 | 1;
}

static struct stream *slot_of(struct roce_pkt_ids *p, uint64_t key)
{
	uint32_t from = (uint32_t)(key >> 32 ^ key >> 1) * 0x9e3779b1u >> 16;

	for (uint32_t i = 0; i < STREAMS; i++) {
		struct stream *s = &p->stream[(from + i) & (STREAMS - 1)];

		if (!s->key || s->key == key)
			return s;
	}
	return NULL;
}

static struct stream *stream_of(struct roce_pkt_ids *p, uint64_t key)
{
	struct stream *s = slot_of(p, key);

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

void roce_pkt_id_forget(struct roce_pkt_ids *p, uint32_t qpn)
{
	for (uint32_t own = 0; own < 2; own++) {
		uint64_t key = (qpn & PSN_MASK) << 2 | own << 1 | 1;
		struct stream *s = slot_of(p, key);

		if (!s || s->key != key)
			continue;
		s->order = 0;
		s->begun = false;
		if (s->seen)
			memset(s->seen, 0, KINDS * DEPTH * sizeof(*s->seen));
	}
}

/*
 * Updates the slot that `packet` shares with all packets DEPTH apart. An older packet in it means that this
 * one was not seen before; a newer one that it was.
 */
static void note(struct seen *seen, uint32_t packet, struct roce_pkt_id *out)
{
	uint32_t old = seen->packet - 1;

	out->again = false;
	if (!seen->packet || psn_diff(packet, old) > 0) {
		*seen = (struct seen){ .packet = packet + 1 };
	} else if (old == packet) {
		out->again = !seen->lost;
	} else {
		out->again = true;
		/* Count on, so that two packets in one slot do not get the same random numbers forever. */
		*seen = (struct seen){ packet + 1, seen->times + 1, false };
	}
	out->packet = packet;
	out->times = seen->times++;
	out->lost = &seen->lost;
}

bool roce_pkt_id_find(struct roce_pkt_ids *p, bool accepted, enum roce_dir dir,
		      const struct roce_pkt *pkt, const struct roce_addr *peer,
		      struct roce_pkt_id *out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);
	bool is_out = dir == ROCE_DIR_OUT, request = !info || info->request;
	unsigned int kind = (request ? AS_REQUEST : AS_RESPONSE) | (is_out ? 0 : AS_RECEIVED) |
			    (accepted ? AS_ACCEPTED : 0);
	struct stream *s = stream_of(p, key_of(pkt, is_out, request, peer));
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
