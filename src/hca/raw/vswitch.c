/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual switch. Each sender reads the switch's members from the host directory and the
 * addresses that they want from their segments. A frame for another process is a record in the
 * link to it, which the receiver's drain of that link hands to vswitch_receive(); a frame for a
 * port of this process is steered at once.
 *
 * A sender keeps one link's send lock (struct vswitch_tx) until it needs another link or flushes, so
 * that consecutive frames to one peer are published together. Lock order: QP, receive lock (wq.h),
 * send lock of a link.
 */
#include "hca/raw/vswitch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/port.h"
#include "ether/steer.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/link.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "hca/device/adapter.h"
#include "hca/hca.h"
#include "hca/raw/netif.h"
#include "hca/raw/wq.h"
#include "hca/transport/link_carrier.h"
#include "hca/transport/timer.h"
#include "util/explain.h"

#define MEMBERS_MAX     1024u
#define RECEIVERS_MAX   64u
#define DEPTH_MAX       8u
#define LINK_WAIT_NS    5000000000ull /* frames wait for a new link to come up */
#define NETIF_RETRY_NS  50000ull      /* until a full interface is tried again */
#define PREFETCH_OFFSET 256u /* from the end of a written record to the ring bytes prefetched */
#define PREFETCH_MAX    2048u

struct member {
	fabric_id_t id;
	uint32_t slot;
	uint64_t
		wait_until_ns; /* frames wait for its link until then; 0: no frame has waited yet */
};

/* The ports on a port's switch, as read from the directory at `version`. */
struct vswitch_members {
	struct epoch_node epoch;
	uint64_t version;
	uint32_t count;
	struct member member[];
};

static const char *switch_name(const struct hca_adapter *a, unsigned int number)
{
	const char *name = a->ports[number - 1].switch_name;

	return *name ? name : "default";
}

/* ---- members ---- */

static void free_members(struct epoch_node *node)
{
	free(container_of(node, struct vswitch_members, epoch));
}

static uint64_t wait_until(const struct vswitch_members *old, const struct fabric_reg_entry *e)
{
	for (uint32_t i = 0; old && i < old->count; i++)
		if (old->member[i].id == e->owner && old->member[i].slot == e->value)
			return old->member[i].wait_until_ns;
	return 0;
}

static struct vswitch_members *read_members(struct ether_port *port, struct vswitch_members *old,
					    uint64_t version)
{
	_Atomic(struct vswitch_members *) *at = &hca.raw.vswitch.members[ether_port_index(port)];
	const char *name = switch_name(hca.raw.vswitch.adapters[port->adapter], port->number);
	struct fabric_reg_entry *entry = malloc(MEMBERS_MAX * sizeof(*entry));
	struct vswitch_members *members;
	size_t n;

	if (!entry)
		return old;
	n = fabric_reg_find(FABRIC_REG_ETHER, name, strlen(name), entry, MEMBERS_MAX);
	if (n > MEMBERS_MAX)
		n = MEMBERS_MAX;
	members = malloc(sizeof(*members) + n * sizeof(members->member[0]));
	if (!members) {
		free(entry);
		return old;
	}
	members->version = version;
	members->count = n;
	for (size_t i = 0; i < n; i++)
		members->member[i] = (struct member){ .id = entry[i].owner,
						      .slot = entry[i].value % ETHER_PORT_COUNT,
						      .wait_until_ns = wait_until(old, &entry[i]) };
	free(entry);
	/* [SW1] pairs with get_members(): the list before its pointer */
	if (!atomic_compare_exchange_strong(at, &old, members)) {
		/* Another thread was faster. If its list is older, the next frame reads again. */
		free(members);
		return atomic_load(at);
	}
	if (old)
		epoch_retire(&old->epoch, free_members);
	return members;
}

static struct vswitch_members *get_members(struct ether_port *port)
{
	uint64_t version = fabric_reg_version(FABRIC_REG_ETHER);
	/* [SW1] */
	struct vswitch_members *members = atomic_load_explicit(
		&hca.raw.vswitch.members[ether_port_index(port)], memory_order_acquire);

	if (likely(members && members->version == version))
		return members;
	return read_members(port, members, version);
}

/* For rules that send a frame on (ether_port_set_transmit()). */
static void transmit(struct ether_port *port, struct ether_frame *frame)
{
	struct vswitch_tx own = { 0 }, *sender = frame->tx;

	if (!sender)
		frame->tx = &own;
	vswitch_send(NULL, port, frame);
	vswitch_flush(frame->tx);
	frame->tx = sender;
}

/* Links that the sender has locked are unlocked first: receivers may send on. */
static void receive_begin(struct ether_frame *frame)
{
	vswitch_flush(frame->tx);
	wq_rx_begin();
}

/* Starts links to all present members; later members start theirs to this process. */
static void connect_members(const char *name)
{
	struct fabric_reg_entry *entry = malloc(MEMBERS_MAX * sizeof(*entry));
	size_t n;

	if (!entry)
		return;
	n = fabric_reg_find(FABRIC_REG_ETHER, name, strlen(name), entry, MEMBERS_MAX);
	for (size_t i = 0; i < n && i < MEMBERS_MAX; i++) {
		struct fabric_link *link = fabric_link_get(entry[i].owner);

		if (link)
			fabric_link_put(link);
	}
	free(entry);
}

static int join_port(const struct hca_adapter *a, unsigned int number)
{
	struct ether_port *port = ether_port(a->index, number);
	const char *name = switch_name(a, number);
	uint32_t slot;
	int err;

	if (!port)
		return -EINVAL;
	slot = ether_port_index(port);
	ether_port_place(port, &hca.peers.segment->ether[slot]);
	err = fabric_reg_add(FABRIC_REG_ETHER, name, strlen(name), slot, false);
	if (err && err != -EEXIST)
		return explain(-err, "port %u of %s cannot join the switch '%s'", number, a->name,
			       name);
	connect_members(name);
	netif_open(port, a);
	return 0;
}

int vswitch_join(const struct hca_adapter *a)
{
	struct vswitch_state *state = &hca.raw.vswitch;
	int err = 0;

	if ((unsigned int)a->index >= ETHER_ADAPTERS)
		return explain(EINVAL, "%s cannot join the switch: it takes %u adapters", a->name,
			       ETHER_ADAPTERS);
	pthread_mutex_lock(&hca.raw.join_lock);
	if (!state->joined[a->index]) {
		ether_port_set_transmit(transmit);
		ether_port_set_receive(receive_begin, wq_rx_end);
		state->adapters[a->index] = a;
		for (int i = 0; i < a->port_count && !err; i++)
			if (a->ports[i].link == HCA_LINK_ETHERNET)
				err = join_port(a, i + 1);
		state->joined[a->index] = !err;
	}
	pthread_mutex_unlock(&hca.raw.join_lock);
	return err;
}

bool vswitch_has_sent(void)
{
	_Atomic bool *has_sent = &hca.raw.vswitch.has_sent;

	return atomic_load_explicit(has_sent, memory_order_relaxed) &&
	       atomic_exchange_explicit(has_sent, false, memory_order_relaxed);
}

/* ---- sending ---- */

void vswitch_flush(struct vswitch_tx *tx)
{
	struct fabric_link *link = tx->link;
	struct netif *netif = tx->netif;

	if (unlikely(netif)) {
		tx->netif = NULL;
		netif_flush(netif);
	}
	if (link) {
		tx->link = NULL;
		fabric_link_publish(link);
		fabric_link_tx_unlock(link);
	}
}

static void use_link(struct vswitch_tx *tx, struct fabric_link *link)
{
	if (tx->link == link)
		return;
	vswitch_flush(tx);
	fabric_link_tx_lock(link);
	tx->link = link;
}

/* The part of struct roce_pkt that a frame needs, so that a short frame takes two cache lines. */
#define RECORD_HEADER offsetof(struct roce_pkt, rdma)

/*
 * Prefetches ring lines of later frames, which are still in the receiver's cache. The lines of the
 * very next frame are left alone: a receiver that polls reads them all the time.
 */
static void prefetch_ring(const struct roce_pkt *pkt, uint32_t len)
{
	uint32_t bytes = fabric_record_bytes(RECORD_HEADER + len);
	const char *from = (const char *)pkt - FABRIC_HEADER + PREFETCH_OFFSET + bytes;

	for (uint32_t at = 0; at < bytes && at < PREFETCH_MAX; at += FABRIC_LINE)
		__builtin_prefetch(from + at, 1);
}

/* False without room. */
static bool put_record(struct hca_peer *peer, uint32_t slot, const struct ether_frame *frame)
{
	_Atomic bool *has_sent = &hca.raw.vswitch.has_sent;
	struct roce_pkt *pkt;

	use_link(frame->tx, peer->link);
	pkt = fabric_link_reserve(peer->link, RECORD_HEADER + frame->len);
	if (unlikely(!pkt)) {
		/* A link holds a limited number of records that are not published. */
		fabric_link_publish(peer->link);
		pkt = fabric_link_reserve(peer->link, RECORD_HEADER + frame->len);
	}
	if (unlikely(!pkt))
		return false;
	if (!atomic_load_explicit(has_sent, memory_order_relaxed))
		atomic_store_explicit(has_sent, true, memory_order_relaxed);
	pkt->op = ROCE_PKT_ETHER;
	pkt->flags = 0;
	pkt->refs = 0;
	pkt->dqpn = slot;
	pkt->psn = frame->src_domain;
	pkt->sqpn = frame->src_qpn;
	pkt->len = frame->len;
	pkt->imm = frame->check;
	memcpy((char *)pkt + RECORD_HEADER, frame->data, frame->len);
	prefetch_ring(pkt, frame->len);
	return true;
}

/* To a port of this process. */
static void steer_here(uint32_t slot, const struct ether_frame *frame)
{
	struct ether_port *port = ether_port(slot / ETHER_PORTS, slot % ETHER_PORTS + 1);
	struct ether_frame copy = *frame;

	receive_begin(&copy);
	ether_steer(port, &copy);
	wq_rx_end();
}

struct receiver {
	struct hca_peer *peer; /* NULL: this process */
	uint32_t slot;
	enum ether_wants wants;
};

/* Frames wait while a member's link comes up, but only once for a member. */
static bool may_wait(struct member *m)
{
	uint64_t now = fabric_now_ns();
	uint64_t until = __atomic_load_n(&m->wait_until_ns, __ATOMIC_RELAXED);

	if (!until) {
		until = now + LINK_WAIT_NS;
		__atomic_store_n(&m->wait_until_ns, until, __ATOMIC_RELAXED);
	}
	return now < until;
}

/* True when a reachable member claims the frame's destination address. */
static bool is_claimed(struct vswitch_members *members, uint32_t from,
		       const struct ether_frame *frame)
{
	for (uint32_t i = 0; i < members->count; i++) {
		const struct member *m = &members->member[i];
		const struct hca_segment *segment = hca.peers.segment;
		bool wait;

		if (frame->wire_only && m->slot == from)
			continue;
		if (m->id != fabric_self()) {
			struct hca_peer *peer = hca_peer_find(m->id, &wait);

			segment = peer ? peer->segment : NULL;
		}
		if (segment && ether_rx_filter_claims(&segment->ether[m->slot], frame->data))
			return true;
	}
	return false;
}

/* Removes receivers that want only unclaimed frames. */
static void drop_unclaimed_receivers(struct receiver *r, unsigned int *count)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < *count; i++)
		if (r[i].wants != ETHER_WANTS_UNCLAIMED)
			r[n++] = r[i];
	*count = n;
}

/*
 * Finds the receivers of a frame that leaves by port `from`. False when it may wait for a member
 * whose link is coming up.
 */
static bool find_receivers(struct vswitch_members *members, uint32_t from,
			   const struct ether_frame *frame, struct receiver *out,
			   unsigned int *count)
{
	bool wait, has_unclaimed = false;
	enum ether_wants wants;

	*count = 0;
	for (uint32_t i = 0; i < members->count && *count < RECEIVERS_MAX; i++) {
		struct member *m = &members->member[i];
		const struct hca_segment *segment = hca.peers.segment;
		struct hca_peer *peer = NULL;

		if (frame->wire_only && m->slot == from)
			continue;
		if (m->id != fabric_self()) {
			peer = hca_peer_find(m->id, &wait);
			if (unlikely(!peer)) {
				if (wait && may_wait(m))
					return false;
				continue;
			}
			segment = peer->segment;
		}
		wants = ether_rx_filter_wants(&segment->ether[m->slot], frame->data);
		if (wants == ETHER_WANTS_NOT)
			continue;
		has_unclaimed = has_unclaimed || wants == ETHER_WANTS_UNCLAIMED;
		out[(*count)++] = (struct receiver){ peer, m->slot, wants };
	}
	if (unlikely(has_unclaimed) && is_claimed(members, from, frame))
		drop_unclaimed_receivers(out, count);
	return true;
}

static void send_to_netif(struct netif *netif, const struct ether_frame *frame)
{
	struct vswitch_tx *tx = frame->tx;

	if (tx->netif && tx->netif != netif) {
		netif_flush(tx->netif);
		tx->netif = NULL;
	}
	if (netif_send(netif, frame))
		tx->netif = netif;
}

bool vswitch_send(struct qp *qp, struct ether_port *port, struct ether_frame *frame)
{
	struct receiver receiver[RECEIVERS_MAX];
	struct vswitch_members *members;
	struct netif *netif;
	unsigned int count;
	bool sent = true;

	if (unlikely(frame->len < ETHER_HEADER || frame->tx->depth >= DEPTH_MAX))
		return true;
	members = get_members(port);
	if (unlikely(!members))
		return true;
	if (unlikely(!find_receivers(members, ether_port_index(port), frame, receiver, &count)) &&
	    qp)
		return false;
	netif = likely(!netif_any()) ? NULL
				     : netif_find_link(port, qp ? qp->attr.lag_port : 0, frame);
	if (unlikely(netif && qp && !netif_has_room(netif))) {
		timer_pause(qp, NETIF_RETRY_NS);
		return false;
	}
	frame->tx->depth++;
	for (unsigned int i = 0; i < count; i++) {
		if (!receiver[i].peer) {
			steer_here(receiver[i].slot, frame);
		} else if (unlikely(!put_record(receiver[i].peer, receiver[i].slot, frame)) && qp &&
			   count == 1) {
			sent = false;
			link_carrier_block(qp, receiver[i].peer);
		}
	}
	/* Every frame also goes to the interface, which other hosts may be behind. */
	if (unlikely(netif) && sent)
		send_to_netif(netif, frame);
	frame->tx->depth--;
	return sent;
}

/* ---- receiving ---- */

/* Reads a snapshot of the header: the sender can still write to the record. */
static bool decode_record(const struct hca_peer *peer, const void *record, uint32_t len,
			  struct ether_port **port, struct ether_frame *frame)
{
	struct roce_pkt pkt;

	if (unlikely(len < RECORD_HEADER))
		return false;
	memcpy(&pkt, record, RECORD_HEADER);
	if (unlikely(pkt.len > len - RECORD_HEADER || pkt.len < ETHER_HEADER ||
		     pkt.len > ETHER_FRAME_MAX || pkt.dqpn >= ETHER_PORT_COUNT))
		return false;
	*port = ether_port(pkt.dqpn / ETHER_PORTS, pkt.dqpn % ETHER_PORTS + 1);
	*frame = (struct ether_frame){
		.data = (const uint8_t *)record + RECORD_HEADER,
		.len = pkt.len,
		.check = (uint8_t)pkt.imm,
		.src_process = peer->id,
		.src_domain = pkt.psn,
		.src_qpn = pkt.sqpn,
	};
	return true;
}

int vswitch_receive(struct hca_peer *peer, const void *record, uint32_t len)
{
	struct ether_frame frame[VSWITCH_BURST];
	struct ether_port *port, *other;
	unsigned int count = 1;
	uint32_t off = 0;

	if (unlikely(!decode_record(peer, record, len, &port, &frame[0])))
		return -EPROTO;
	for (; count < VSWITCH_BURST; count++) {
		off += fabric_record_bytes(len);
		record = fabric_link_look(peer->link, off, &len);
		/* Any other record ends the burst; the next call begins with it. */
		if (!record || *(const uint8_t *)record != ROCE_PKT_ETHER ||
		    !decode_record(peer, record, len, &other, &frame[count]) || other != port)
			break;
	}
	return (int)ether_steer_many(port, frame, count, wq_rx_is_paused);
}
