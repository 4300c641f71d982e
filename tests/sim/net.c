/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/net.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/epoch.h"
#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "hca/transport/acks.h"
#include "hca/transport/completer.h"
#include "hca/transport/dct.h"
#include "hca/transport/network.h"
#include "hca/transport/observer.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/responder.h"
#include "hca/transport/timer.h"
#include "roce/decode.h"
#include "roce/encode.h"
#include "roce/fault.h"
#include "roce/icrc.h"
#include "roce/opcode.h"
#include "util/heap.h"

#include "sim/alloc.h"
#include "sim/end.h"
#include "sim/mutation.h"
#include "sim/sim.h"
#include "sim/trace.h"
#include "unit/transport/in_memory.h"

#define SPORT 0xc000
#define DPORT 4791
/* Later than the system's clock will ever be: the service thread leaves our timers alone. */
#define BEGIN_NS (1ull << 61)

struct in_flight {
	struct heap_node node;
	struct host *src, *dst;
	uint32_t len;
	uint8_t bytes[];
};

struct net net;

static struct {
	struct heap flying;
	uint64_t last_arrival_ns;
	struct rng rng;
	struct rng numbers;   /* that the adapters draw */
	struct hca_acks acks; /* of packets that arrived at this time */
} link;

/* ---- the clock ---- */

static uint64_t now(void)
{
	return net.now_ns;
}

static uint32_t wall(void)
{
	return (uint32_t)(net.now_ns / 1000000);
}

/* net_step() looks at the timers itself. */
static void wake_at(uint64_t at_ns)
{
}

static uint32_t random_word(void)
{
	return (uint32_t)rng_next(&link.numbers);
}

static const struct hca_clock virtual_clock = {
	.now_ns = now, .wall_ms = wall, .random = random_word, .wake_at = wake_at
};

uint64_t net_elapsed_ns(void)
{
	return net.now_ns - BEGIN_NS;
}

/* ---- addresses ---- */

void net_address(unsigned int index, uint8_t gid[16])
{
	const uint8_t at[16] = { [10] = 0xff,
				 [11] = 0xff,
				 [12] = 10,
				 [13] = (uint8_t)(index >> 16),
				 [14] = (uint8_t)(index >> 8),
				 [15] = (uint8_t)index };

	memcpy(gid, at, sizeof(at));
}

static struct host *host_of_gid(const uint8_t gid[16])
{
	unsigned int index = gid[13] << 16 | gid[14] << 8 | gid[15];

	return index < sim.shape.hosts ? &sim.host[index] : NULL;
}

static struct host *host_of(const struct qp *qp)
{
	return (struct host *)qp->pub.ctx;
}

/* ---- faults ---- */

static bool is_down(const struct host *host)
{
	return host->gone || net.now_ns < host->down_until_ns;
}

void net_set_down(struct host *host, uint64_t ns)
{
	host->down_until_ns = net.now_ns + ns;
}

static void fly(struct in_flight *f, uint64_t later_ns)
{
	uint64_t at = net.now_ns + sim.shape.delay_ns + later_ns;

	if (sim.shape.jitter_ns)
		at += rng_below(&link.rng, (uint32_t)sim.shape.jitter_ns);
	/* In the order of sending, except packets that a fault delays. */
	if (!later_ns) {
		if (at <= link.last_arrival_ns)
			at = link.last_arrival_ns + 1;
		link.last_arrival_ns = at;
	}
	assert(!heap_set(&link.flying, &f->node, at));
}

static struct in_flight *copy_of(const struct in_flight *f)
{
	struct in_flight *c = malloc(sizeof(*c) + f->len);

	assert(c);
	memcpy(c, f, sizeof(*c) + f->len);
	c->node = (struct heap_node){ 0 };
	return c;
}

/* True: the packet goes on. */
static bool survives(struct in_flight *f, const struct roce_verdict *v)
{
	uint32_t bit;

	switch (v->action) {
	case ROCE_FAULT_DROP:
		net.lost++;
		return false;
	case ROCE_FAULT_CORRUPT:
		bit = v->bit % (f->len * 8);
		if (bit / 8 == 4) /* the ICRC does not cover FECN and BECN */
			bit += 8;
		f->bytes[bit / 8] ^= 1u << bit % 8;
		net.corrupted++;
		return true;
	default:
		return true;
	}
}

static uint64_t lateness(const struct roce_verdict *v)
{
	switch (v->action) {
	case ROCE_FAULT_DELAY:
		net.delayed++;
		return v->delay_ns;
	case ROCE_FAULT_REORDER:
		net.delayed++;
		return 1 + rng_below(&link.rng, (uint32_t)sim.shape.delay_ns * 20);
	default:
		return 0;
	}
}

static void leave(struct in_flight *f, const struct roce_pkt *pkt)
{
	struct roce_verdict v =
		roce_fault_judge(f->src->fault, ROCE_DIR_OUT, pkt, &f->dst->addr, net.now_ns);

	if (is_down(f->src) || is_down(f->dst)) {
		net.lost++;
		free(f);
		return;
	}
	if (!survives(f, &v)) {
		free(f);
		return;
	}
	if (v.action == ROCE_FAULT_DUP) {
		net.duplicated++;
		fly(copy_of(f),
		    rng_percent(&link.rng, 50)
			    ? 1 + rng_below(&link.rng, (uint32_t)sim.shape.delay_ns * 40)
			    : 0);
	}
	fly(f, lateness(&v));
}

/* ---- the carrier ---- */

static int transmit(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	struct host *src = host_of(qp), *dst = host_of_gid(qp->attr.av.dgid.raw);
	struct in_flight *f = malloc(sizeof(*f) + ROCE_MAX_PACKET);
	struct roce_icrc_flow flow;
	uint32_t icrc;

	assert(!peer && f);
	*f = (struct in_flight){ .src = src, .dst = dst };
	f->len = (uint32_t)roce_encode(pkt, ROCE_PKEY_DEFAULT, f->bytes);
	if (pkt->len && !hca_mem_copy_out(list, off, f->bytes + f->len, pkt->len)) {
		free(f);
		return -EFAULT;
	}
	memset(f->bytes + f->len + pkt->len, 0, roce_pad(pkt->len));
	mutation_packet(pkt, f->bytes + f->len);
	f->len += pkt->len + roce_pad(pkt->len);
	net.packets++;
	trace_mix(net_elapsed_ns() << 16 ^ (uint64_t)pkt->op << 8 ^ src->index);
	trace_mix((uint64_t)pkt->psn << 20 ^ pkt->len);
	if (trace.packets)
		trace_line("  %s sends %s, psn 0x%06x, %u bytes",
			   end_name(&sim.end[qp->pub.user_index]), roce_opcode_find(pkt->op)->name,
			   pkt->psn, pkt->len);
	if (!dst) {
		free(f);
		return 0;
	}
	roce_icrc_flow_init(&flow, &src->addr, &dst->addr, SPORT, DPORT);
	icrc = htole32(roce_icrc_compute(&flow, f->bytes, f->len, 0));
	memcpy(f->bytes + f->len, &icrc, sizeof(icrc));
	f->len += sizeof(icrc);
	leave(f, pkt);
	return 0;
}

static int send_one(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs)
{
	int paused = alloc_pause(), err = transmit(qp, peer, pkt, list, off, refs);

	alloc_resume(paused);
	return err;
}

static bool has_unread(struct qp *qp)
{
	return false;
}

static const struct carrier carrier = {
	.send = send_one,
	IN_MEMORY_CARRIER,
	.has_unread = has_unread,
};

static int connect_qp(struct qp *qp, const struct hca_av *av)
{
	qp->carrier = &carrier;
	qp->read_bytes_most = 1u << 20;
	/* A datagram goes to the address of its own. */
	if (qp->pub.type == HCA_QP_UD)
		qp->attr.av.dgid = av->dgid;
	return 0;
}

static const struct network network = { .connect = connect_qp, IN_MEMORY_NETWORK };

/* ---- RNR and NAK of fault scripts ---- */

static struct roce_verdict judge_request(const struct qp *qp, const struct roce_pkt *pkt)
{
	const struct host *peer = host_of_gid(qp->attr.av.dgid.raw);
	struct roce_verdict v = roce_fault_judge_request(host_of(qp)->fault, pkt,
							 peer ? &peer->addr : NULL, net.now_ns);

	net.refused += v.action != ROCE_FAULT_NONE;
	return v;
}

static void forget_faults(const struct qp *qp)
{
	roce_fault_reset_qp(host_of(qp)->fault, qp->pub.qpn);
}

static const struct observer observer = { .judge = judge_request, .forget = forget_faults };

/* ---- arrival ---- */

static void hand_over(struct qp *qp, struct roce_pkt *pkt, const void *payload)
{
	alloc_enter();
	in_memory_hand_over(qp, &link.acks, pkt, payload);
	alloc_leave();
	mutation_delivered(qp, pkt, payload);
}

static void deliver(const struct in_flight *f)
{
	struct roce_icrc_flow flow;
	struct roce_payload payload;
	struct roce_verdict v;
	struct roce_pkt pkt;
	struct qp *qp;
	uint16_t id = 0;

	roce_icrc_flow_init(&flow, &f->src->addr, &f->dst->addr, SPORT, DPORT);
	if (!roce_icrc_check(&flow, f->bytes, f->len, &id) || id ||
	    roce_decode(f->bytes, f->len, &pkt, &payload) != ROCE_OK)
		return;
	v = roce_fault_judge(f->dst->fault, ROCE_DIR_IN, &pkt, &f->src->addr, net.now_ns);
	if (v.action == ROCE_FAULT_DROP || v.action == ROCE_FAULT_CORRUPT) {
		net.lost++;
		return;
	}
	qp = qp_find(pkt.dqpn);
	/* Numbers are unique in this process; a host answers to its own only. */
	if (!qp || host_of(qp) != f->dst)
		return;
	if (trace.packets)
		trace_line("  %s gets %s, psn 0x%06x, %u bytes, syndrome 0x%02x",
			   end_name(&sim.end[qp->pub.user_index]), roce_opcode_find(pkt.op)->name,
			   pkt.psn, pkt.len, in_memory_is_answer(pkt.op) ? pkt.ack.syndrome : 0);
	if (qp->dct) {
		alloc_enter();
		qp = dct_remote_session(qp, f->src->addr.gid, f->dst->addr.gid, &pkt);
		alloc_leave();
	}
	if (qp)
		hand_over(qp, &pkt, payload.data);
	if (qp && v.action == ROCE_FAULT_DUP) {
		net.duplicated++;
		hand_over(qp, &pkt, payload.data);
	}
}

/* ---- time ---- */

static uint64_t next_timer(void)
{
	const struct heap_node *node = heap_first(&hca.transport.timers.heap);

	return node ? node->key : UINT64_MAX;
}

static uint64_t next_packet(void)
{
	const struct heap_node *node = heap_first(&link.flying);

	return node ? node->key : UINT64_MAX;
}

bool net_has_packets(void)
{
	return next_packet() != UINT64_MAX;
}

/*
 * Packets that arrive within a microsecond are one batch, with one acknowledgement for all of a
 * queue pair.
 */
static void take_packets(void)
{
	uint64_t until = net.now_ns + 1000;

	epoch_enter();
	for (unsigned int i = 0; i < 16 && next_packet() <= until; i++) {
		struct in_flight *f =
			container_of(heap_first(&link.flying), struct in_flight, node);

		if (f->node.key > net.now_ns)
			net.now_ns = f->node.key;
		heap_remove(&link.flying, &f->node);
		if (is_down(f->dst))
			net.lost++;
		else
			deliver(f);
		free(f);
	}
	alloc_enter();
	acks_send(&link.acks);
	alloc_leave();
	link.acks = (struct hca_acks){ .count = 0 };
	epoch_exit();
}

bool net_step(uint64_t until_ns)
{
	uint64_t timer = next_timer(), packet = next_packet();
	uint64_t at = timer < packet ? timer : packet;

	if (at > until_ns)
		return false;
	if (at > net.now_ns)
		net.now_ns = at;
	if (packet <= timer) {
		take_packets();
		return true;
	}
	alloc_enter();
	timer_run(net.now_ns, completer_timeout);
	alloc_leave();
	return true;
}

void net_pass(uint64_t ns)
{
	uint64_t until = net.now_ns + ns;

	while (net_step(until))
		;
	if (net.now_ns < until)
		net.now_ns = until;
}

void net_reset(void)
{
	while (heap_first(&link.flying)) {
		struct in_flight *f =
			container_of(heap_first(&link.flying), struct in_flight, node);

		heap_remove(&link.flying, &f->node);
		free(f);
	}
	mutation_reset();
	link.last_arrival_ns = 0;
	link.rng = rng_fork(sim.seed, 3);
	link.numbers = rng_fork(sim.seed, 5);
	alloc_begin(sim.seed, sim.shape.starved ? 10 : 0);
	net.now_ns = BEGIN_NS;
}

void net_begin(void)
{
	hca.clock = &virtual_clock;
	hca.network = &network;
	atomic_store(&hca.observer, &observer);
	net.now_ns = BEGIN_NS;
}
