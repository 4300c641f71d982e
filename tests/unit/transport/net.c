/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/net.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "fabric/epoch.h"
#include "hca/transport/acks.h"
#include "hca/transport/blocked_list.h"
#include "hca/transport/completer.h"
#include "hca/transport/dct.h"
#include "hca/transport/egress.h"
#include "hca/transport/network.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/responder.h"
#include "hca/transport/timer.h"
#include "hca/transport/tx_wait.h"
#include "roce/decode.h"
#include "roce/encode.h"
#include "roce/icrc.h"
#include "util/heap.h"
#include "transport/in_memory.h"

#define SPORT 0xc000
#define DPORT 4791

struct in_flight {
	struct heap_node node; /* by at_ns */
	uint64_t at_ns;
	struct roce_addr src, dst;
	size_t len;
	uint8_t bytes[ROCE_MAX_PACKET];
};

struct net net;
static struct heap flying;
static uint64_t rng;
static uint64_t last_arrival_ns;

/* ---- the clock ---- */

static uint64_t now(void)
{
	return net.now_ns;
}

static uint32_t wall(void)
{
	return (uint32_t)(net.now_ns / 1000000);
}

static void wake_at(uint64_t at_ns)
{
	if (at_ns < net.woken_ns)
		net.woken_ns = at_ns;
}

static uint32_t random_word(void)
{
	static uint32_t word;

	return word = word * 1664525u + 1013904223u;
}

static const struct hca_clock virtual_clock = {
	.now_ns = now, .wall_ms = wall, .random = random_word, .wake_at = wake_at
};

/* ---- what a network does to packets ---- */

/* xorshift64*: the same row of numbers for a seed everywhere. */
static uint64_t draw(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return rng * 0x2545f4914f6cdd1dull;
}

static bool happens(uint32_t share)
{
	return share && draw() % 1000000 < share;
}

/* Packets arrive in the order in which they were sent, except those that reordering delays. */
static void fly(const struct in_flight *packet)
{
	struct in_flight *f = malloc(sizeof(*f));

	assert(f);
	memcpy(f, packet, sizeof(*f));
	f->node = (struct heap_node){ 0 };
	f->at_ns = net.now_ns + net.faults.delay_ns;
	if (happens(net.faults.reorder)) {
		f->at_ns += draw() % (10 * net.faults.delay_ns + 1);
	} else {
		if (f->at_ns <= last_arrival_ns)
			f->at_ns = last_arrival_ns + 1;
		last_arrival_ns = f->at_ns;
	}
	assert(!heap_set(&flying, &f->node, f->at_ns));
}

static void record(const struct roce_pkt *pkt, const void *payload)
{
	struct net_sent *s = &net.sent[net.sent_count % NET_MOST_SENT];

	net.sent_count++;
	s->pkt = *pkt;
	s->at_ns = net.now_ns;
	s->len = pkt->len;
	memcpy(s->payload, payload, pkt->len);
}

static void source_of(const struct qp *qp, struct roce_addr *src)
{
	struct hca_gid_entry e;

	if (hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, qp->attr.av.sgid_index, &e))
		memcpy(src->gid, e.gid.raw, sizeof(src->gid));
}

static void transmit(struct qp *qp, const struct roce_pkt *pkt, const uint8_t *payload)
{
	struct in_flight f = { .len = 0 };
	struct roce_icrc_flow flow;
	uint32_t icrc;

	source_of(qp, &f.src);
	memcpy(f.dst.gid, qp->attr.av.dgid.raw, sizeof(f.dst.gid));
	f.len = roce_encode(pkt, ROCE_PKEY_DEFAULT, f.bytes);
	memcpy(f.bytes + f.len, payload, pkt->len);
	f.len += pkt->len + roce_pad(pkt->len);
	roce_icrc_flow_init(&flow, &f.src, &f.dst, SPORT, DPORT);
	icrc = htole32(roce_icrc_compute(&flow, f.bytes, f.len, 0));
	memcpy(f.bytes + f.len, &icrc, sizeof(icrc));
	f.len += sizeof(icrc);
	net.packets++;
	if (happens(net.faults.loss)) {
		net.lost++;
		return;
	}
	if (happens(net.faults.duplicate)) {
		net.duplicated++;
		fly(&f);
	}
	if (happens(net.faults.corrupt)) {
		uint64_t bit;

		do /* switches may change byte 4 (FECN, BECN), so that the ICRC does not cover it */
			bit = draw() % (f.len * 8);
		while (bit / 8 == 4);
		net.corrupted++;
		f.bytes[bit / 8] ^= 1u << bit % 8;
	}
	fly(&f);
}

/* ---- the carrier ---- */

static int send_one(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	uint8_t payload[4096];

	assert(!peer && pkt->len <= sizeof(payload));
	if (net.full) {
		blocked_list_add(&net.blocked, qp);
		return -EAGAIN;
	}
	if (pkt->len && !hca_mem_copy_out(list, off, payload, pkt->len))
		return -EFAULT;
	if (net.held)
		record(pkt, payload);
	else
		transmit(qp, pkt, payload);
	return 0;
}

static bool has_unread(struct qp *qp)
{
	return net.unread;
}

static const struct carrier carrier = {
	.send = send_one,
	IN_MEMORY_CARRIER,
	.has_unread = has_unread,
};

static int connect_qp(struct qp *qp, const struct hca_av *av)
{
	net.connects++;
	qp->carrier = &carrier;
	qp->read_bytes_most = 1u << 20;
	return 0;
}

static const struct network network = { .connect = connect_qp, IN_MEMORY_NETWORK };

/* ---- arrival ---- */

static void arrive(struct qp *qp, struct roce_pkt *pkt, const void *payload)
{
	struct hca_acks acks = { .count = 0 };

	in_memory_hand_over(qp, &acks, pkt, payload);
	acks_send(&acks);
}

void net_inject(struct hca_qp *pub, const struct roce_pkt *pkt, const void *payload)
{
	struct qp *qp = (struct qp *)pub;
	struct roce_pkt copy = *pkt;
	struct roce_addr here = { 0 };

	epoch_enter();
	if (qp->dct) {
		if (qp->attr.port)
			source_of(qp, &here);
		qp = dct_remote_session(qp, here.gid, here.gid, &copy);
	}
	if (qp)
		arrive(qp, &copy, payload);
	epoch_exit();
}

static void deliver(const struct in_flight *f)
{
	struct roce_icrc_flow flow;
	struct roce_payload payload;
	struct roce_pkt pkt;
	struct qp *qp;
	uint16_t id = 0;

	roce_icrc_flow_init(&flow, &f->src, &f->dst, SPORT, DPORT);
	if (!roce_icrc_check(&flow, f->bytes, f->len, &id) || id ||
	    roce_decode(f->bytes, f->len, &pkt, &payload) != ROCE_OK) {
		net.dropped_icrc++;
		return;
	}
	epoch_enter();
	qp = qp_find(pkt.dqpn);
	if (qp && qp->dct)
		qp = dct_remote_session(qp, f->src.gid, f->dst.gid, &pkt);
	if (qp)
		arrive(qp, &pkt, payload.data);
	epoch_exit();
}

/* ---- time ---- */

static uint64_t next_timer(void)
{
	const struct heap_node *node = heap_first(&hca.transport.timers.heap);

	return node ? node->key : UINT64_MAX;
}

static uint64_t next_packet(void)
{
	const struct heap_node *node = heap_first(&flying);

	return node ? container_of(node, struct in_flight, node)->at_ns : UINT64_MAX;
}

static void take_packet(void)
{
	struct in_flight *f = container_of(heap_first(&flying), struct in_flight, node);

	heap_remove(&flying, &f->node);
	deliver(f);
	free(f);
}

bool net_step(void)
{
	uint64_t timer = next_timer(), packet = next_packet();
	uint64_t at = timer < packet ? timer : packet;

	if (at == UINT64_MAX)
		return false;
	if (at > net.now_ns)
		net.now_ns = at;
	if (packet <= timer)
		take_packet();
	else
		timer_run(net.now_ns, completer_timeout);
	return true;
}

bool net_run(bool (*done)(void *arg), void *arg, uint64_t most_ns)
{
	uint64_t until = net.now_ns + most_ns;

	while (!done(arg))
		if (net.now_ns >= until || !net_step())
			return false;
	return true;
}

void net_pass(uint64_t ns)
{
	uint64_t until = net.now_ns + ns;

	while (next_timer() <= until || next_packet() <= until)
		net_step();
	net.now_ns = until;
}

void net_deliver_arrived(void)
{
	while (next_packet() <= net.now_ns)
		take_packet();
}

void net_room(void)
{
	struct qp *list = net.blocked;

	net.full = false;
	net.blocked = NULL;
	epoch_enter();
	tx_wait_run(list);
	epoch_exit();
}

const struct net_sent *net_take(void)
{
	return net.taken < net.sent_count ? &net.sent[net.taken++ % NET_MOST_SENT] : NULL;
}

const struct net_sent *net_await_packet(uint64_t most_ns)
{
	const struct net_sent *s;
	uint64_t until = net.now_ns + most_ns;

	while (!(s = net_take()))
		if (net.now_ns >= until || !net_step())
			return NULL;
	return s;
}

void net_set_faults(const struct net_faults *faults)
{
	net.faults = *faults;
	rng = faults->seed * 0x9e3779b97f4a7c15ull + 1;
}

void net_reset(void)
{
	struct net_sent *sent = net.sent;
	uint64_t now_ns = net.now_ns;

	while (heap_first(&flying)) {
		struct in_flight *f = container_of(heap_first(&flying), struct in_flight, node);

		heap_remove(&flying, &f->node);
		free(f);
	}
	net = (struct net){ .now_ns = now_ns, .woken_ns = UINT64_MAX, .sent = sent };
	net_set_faults(&(struct net_faults){ .delay_ns = 1000 });
}

void net_begin(void)
{
	/* Later than the system's clock will ever be: the service thread leaves our timers alone. */
	net.now_ns = 1ull << 61;
	net.sent = calloc(NET_MOST_SENT, sizeof(*net.sent));
	assert(net.sent);
	hca.clock = &virtual_clock;
	hca.network = &network;
	net_reset();
}
