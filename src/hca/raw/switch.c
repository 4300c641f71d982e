/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's sending half is in every sender: it knows who is on the switch from the host
 * directory, and what they want from the receive filters in their segments. Its receiving half is the link's
 * drain. Frames for other processes are records in their links; within this one they are steered
 * at once.
 *
 * A sender keeps one link open (its send lock taken) until it needs another or flushes, so that a
 * row of frames to one peer is published once. Locks, outermost first: the QP, the receive lock
 * (wq.h), the link's send lock.
 */
#include "hca/raw/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/steer.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/link.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/device/adapter.h"
#include "hca/raw/netif.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"
#include "fabric/epoch.h"
#include "hca/transport/link_carrier.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/timer.h"
#include "hca/raw/wq.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define MEMBERS_MOST 1024u
#define NESTING_MOST 8u
#define PATIENCE_NS  5000000000ull
#define NETIF_NS     50000ull /* until an interface is asked again */
#define AHEAD        256u /* bytes of a ring between a frame that is written and what is fetched */
#define AHEAD_MOST   2048u

struct member {
	fabric_id_t id;
	uint32_t slot;
	uint64_t patience; /* frames wait for its link until then; 0: nobody has waited yet */
};

/* Who is on a port's switch, as the directory said at `version`. */
struct view {
	uint64_t version;
	uint32_t count;
	struct member member[];
};

static pthread_mutex_t join_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(join_lock, FORKSAFE_OBJECT);
static bool joined[ETHER_ADAPTERS];
static const struct hca_adapter *adapters[ETHER_ADAPTERS];
static _Atomic(struct view *) views[HCA_ETHER_SLOTS];

static _Atomic bool has_sent;
#define OWN static _Thread_local __attribute__((tls_model("initial-exec")))
OWN struct fabric_link *open_link;
OWN unsigned int nesting;

static const char default_name[] = "default";

static const char *switch_of(const struct hca_adapter *a, unsigned int number)
{
	const char *name = a->ports[number - 1].switch_name;

	return *name ? name : default_name;
}

static uint32_t slot_of(const struct ether_port *port)
{
	return port->adapter * ETHER_PORTS + port->number - 1;
}

/* ---- members ---- */

static void free_later(void *view)
{
	epoch_wait();
	free(view);
}

static uint64_t patience_of(const struct view *old, const struct fabric_reg_entry *e)
{
	for (uint32_t i = 0; old && i < old->count; i++)
		if (old->member[i].id == e->owner && old->member[i].slot == e->value)
			return old->member[i].patience;
	return 0;
}

static struct view *renew(struct ether_port *port, struct view *old, uint64_t version)
{
	const char *name = switch_of(adapters[port->adapter], port->number);
	struct fabric_reg_entry *entry = malloc(MEMBERS_MOST * sizeof(*entry));
	struct view *view;
	size_t n;

	if (!entry)
		return old;
	n = fabric_reg_find(FABRIC_REG_ETHER, name, strlen(name), entry, MEMBERS_MOST);
	if (n > MEMBERS_MOST)
		n = MEMBERS_MOST;
	view = malloc(sizeof(*view) + n * sizeof(view->member[0]));
	if (!view) {
		free(entry);
		return old;
	}
	view->version = version;
	view->count = n;
	for (size_t i = 0; i < n; i++)
		view->member[i] = (struct member){ .id = entry[i].owner,
						   .slot = entry[i].value % HCA_ETHER_SLOTS,
						   .patience = patience_of(old, &entry[i]) };
	free(entry);
	/* [V1] pairs with current(): the view before its pointer */
	if (!atomic_compare_exchange_strong(&views[slot_of(port)], &old, view)) {
		free(view); /* another thread was faster, and may have seen less: look again */
		return atomic_load(&views[slot_of(port)]);
	}
	if (old && fabric_service_run(free_later, old))
		return view; /* nobody to free it: it stays */
	return view;
}

static struct view *current(struct ether_port *port)
{
	uint64_t version = fabric_reg_version(FABRIC_REG_ETHER);
	/* [V1] */
	struct view *view = atomic_load_explicit(&views[slot_of(port)], memory_order_acquire);

	if (likely(view && view->version == version))
		return view;
	return renew(port, view, version);
}

static void transmit(struct ether_port *port, struct ether_frame *frame)
{
	hca_switch_send(NULL, port, frame);
	hca_switch_flush();
}

/* Links to those who are there already; newcomers make theirs to us. */
static void greet(const char *name)
{
	struct fabric_reg_entry *entry = malloc(MEMBERS_MOST * sizeof(*entry));
	size_t n;

	if (!entry)
		return;
	n = fabric_reg_find(FABRIC_REG_ETHER, name, strlen(name), entry, MEMBERS_MOST);
	for (size_t i = 0; i < n && i < MEMBERS_MOST; i++) {
		struct fabric_link *link = fabric_link_get(entry[i].owner);

		if (link)
			fabric_link_put(link);
	}
	free(entry);
}

static int join_port(const struct hca_adapter *a, unsigned int number)
{
	struct ether_port *port = ether_port(a->index, number);
	const char *name = switch_of(a, number);
	int err;

	if (!port)
		return -EINVAL;
	ether_port_place(port, &hca.peers.segment->ether[slot_of(port)]);
	err = fabric_reg_add(FABRIC_REG_ETHER, name, strlen(name), slot_of(port), false);
	if (err && err != -EEXIST)
		return explain(-err, "port %u of %s cannot join the switch '%s'", number, a->name,
			       name);
	greet(name);
	hca_netif_open(port, a);
	return 0;
}

int hca_switch_join(const struct hca_adapter *a)
{
	int err = 0;

	if ((unsigned int)a->index >= ETHER_ADAPTERS)
		return explain(EINVAL, "%s is one adapter too many for the switch", a->name);
	pthread_mutex_lock(&join_lock);
	if (!joined[a->index]) {
		ether_port_set_transmit(transmit);
		adapters[a->index] = a;
		for (int i = 0; i < a->port_count && !err; i++)
			if (a->ports[i].link == HCA_LINK_ETHERNET)
				err = join_port(a, i + 1);
		joined[a->index] = !err;
	}
	pthread_mutex_unlock(&join_lock);
	return err;
}

bool hca_switch_has_sent(void)
{
	return atomic_load_explicit(&has_sent, memory_order_relaxed) &&
	       atomic_exchange_explicit(&has_sent, false, memory_order_relaxed);
}

void hca_switch_forked(void)
{
	memset(joined, 0, sizeof(joined));
	for (unsigned int i = 0; i < HCA_ETHER_SLOTS; i++)
		atomic_store(&views[i], NULL);
	open_link = NULL;
	nesting = 0;
	ether_port_forked();
	hca_netif_forked();
}

/* ---- sending ---- */

void hca_switch_flush(void)
{
	struct fabric_link *link = open_link;

	hca_netif_flush();
	if (!link)
		return;
	open_link = NULL;
	fabric_link_publish(link);
	fabric_link_tx_unlock(link);
}

static void use_link(struct fabric_link *link)
{
	if (open_link == link)
		return;
	hca_switch_flush();
	fabric_link_tx_lock(link);
	open_link = link;
}

/* What of a packet's header a frame needs: short, so that a short frame is two cache lines. */
#define RECORD_HEADER offsetof(struct roce_pkt, rdma)

/*
 * The lines that frames to come will lie in, out of the receiver's cache. Not those of the next
 * one: the receiver, if it polls, has its eye on them.
 */
static void fetch_ahead(const struct roce_pkt *pkt, uint32_t len)
{
	uint32_t bytes = fabric_record_bytes(RECORD_HEADER + len);
	const char *from = (const char *)pkt - FABRIC_HEADER + AHEAD + bytes;

	for (uint32_t at = 0; at < bytes && at < AHEAD_MOST; at += FABRIC_LINE)
		__builtin_prefetch(from + at, 1);
}

/* False without room. */
static bool put_record(struct hca_peer *peer, uint32_t slot, const struct ether_frame *frame)
{
	struct roce_pkt *pkt;

	use_link(peer->link);
	pkt = fabric_link_reserve(peer->link, RECORD_HEADER + frame->len);
	if (unlikely(!pkt)) {
		fabric_link_publish(peer->link); /* 64 may wait, and then no more */
		pkt = fabric_link_reserve(peer->link, RECORD_HEADER + frame->len);
	}
	if (unlikely(!pkt))
		return false;
	if (!atomic_load_explicit(&has_sent, memory_order_relaxed))
		atomic_store_explicit(&has_sent, true, memory_order_relaxed);
	pkt->op = ROCE_PKT_ETHER;
	pkt->flags = 0;
	pkt->refs = 0;
	pkt->dqpn = slot;
	pkt->psn = frame->src_domain;
	pkt->sqpn = frame->src_qpn;
	pkt->len = frame->len;
	pkt->imm = frame->check;
	memcpy((char *)pkt + RECORD_HEADER, frame->data, frame->len);
	fetch_ahead(pkt, frame->len);
	return true;
}

static void steer_here(uint32_t slot, const struct ether_frame *frame)
{
	struct ether_port *port = ether_port(slot / ETHER_PORTS, slot % ETHER_PORTS + 1);
	struct ether_frame copy = *frame;

	hca_switch_flush();
	hca_rx_begin();
	ether_steer(port, &copy);
	hca_rx_end();
}

struct wanting {
	struct hca_peer *peer; /* NULL: this process */
	uint32_t slot;
	enum ether_wants wants;
};

#define WANTING_MOST 64u

/* A link that is being made is worth waiting for; one that never comes up, only once. */
static bool is_patient(struct member *m)
{
	uint64_t now = fabric_now_ns(), until = __atomic_load_n(&m->patience, __ATOMIC_RELAXED);

	if (!until) {
		until = now + PATIENCE_NS;
		__atomic_store_n(&m->patience, until, __ATOMIC_RELAXED);
	}
	return now < until;
}

/* Is there somebody who takes the frame? Not those whom it does not reach. */
static bool is_taken(struct view *view, uint32_t from, const struct ether_frame *frame)
{
	for (uint32_t i = 0; i < view->count; i++) {
		const struct member *m = &view->member[i];
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

/* As if they were not there: who takes what is left, of a frame that is not. */
static void drop_left(struct wanting *w, unsigned int *count)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < *count; i++)
		if (w[i].wants != ETHER_WANTS_UNCLAIMED)
			w[n++] = w[i];
	*count = n;
}

/*
 * Those that want the frame, which leaves by port `from`. False when a link is still being made,
 * and may be worth waiting for.
 */
static bool find_wanting(struct view *view, uint32_t from, const struct ether_frame *frame,
			 struct wanting *out, unsigned int *count)
{
	bool wait, left = false;
	enum ether_wants wants;

	*count = 0;
	for (uint32_t i = 0; i < view->count && *count < WANTING_MOST; i++) {
		struct member *m = &view->member[i];
		struct hca_segment *segment = hca.peers.segment;
		struct hca_peer *peer = NULL;

		if (frame->wire_only && m->slot == from)
			continue;
		if (m->id != fabric_self()) {
			peer = hca_peer_find(m->id, &wait);
			if (unlikely(!peer)) {
				if (wait && is_patient(m))
					return false;
				continue;
			}
			segment = peer->segment;
		}
		wants = ether_rx_filter_wants(&segment->ether[m->slot], frame->data);
		if (wants == ETHER_WANTS_NOT)
			continue;
		left = left || wants == ETHER_WANTS_UNCLAIMED;
		out[(*count)++] = (struct wanting){ peer, m->slot, wants };
	}
	if (unlikely(left) && is_taken(view, from, frame))
		drop_left(out, count);
	return true;
}

bool hca_switch_send(struct qp *qp, struct ether_port *port, struct ether_frame *frame)
{
	struct wanting wanting[WANTING_MOST];
	struct view *view;
	bool sent = true, has_netif;
	unsigned int count;

	if (unlikely(frame->len < ETHER_HEADER || nesting >= NESTING_MOST))
		return true;
	view = current(port);
	if (unlikely(!view))
		return true;
	if (unlikely(!find_wanting(view, slot_of(port), frame, wanting, &count)) && qp)
		return false;
	has_netif = hca_netif_is_open(port);
	if (unlikely(has_netif && qp && !hca_netif_has_room(port))) {
		timer_pause(qp, NETIF_NS);
		return false;
	}
	nesting++;
	for (unsigned int i = 0; i < count; i++) {
		if (!wanting[i].peer) {
			steer_here(wanting[i].slot, frame);
		} else if (unlikely(!put_record(wanting[i].peer, wanting[i].slot, frame)) && qp &&
			   count == 1) {
			sent = false;
			link_carrier_block(qp, wanting[i].peer);
		}
	}
	/* What nobody here has asked for by its address, and what is for many, also goes out. */
	if (unlikely(has_netif) && sent)
		hca_netif_send(port, frame);
	nesting--;
	return sent;
}

/* From a snapshot of the header, whose sender may still write to it. */
static bool take_record(const struct hca_peer *peer, const void *record, uint32_t len,
			struct ether_port **port, struct ether_frame *frame)
{
	struct roce_pkt pkt;

	if (unlikely(len < RECORD_HEADER))
		return false;
	memcpy(&pkt, record, RECORD_HEADER);
	if (unlikely(pkt.len > len - RECORD_HEADER || pkt.len < ETHER_HEADER ||
		     pkt.len > ETHER_FRAME_MAX || pkt.dqpn >= HCA_ETHER_SLOTS))
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

int hca_switch_receive(struct hca_peer *peer, const void *record, uint32_t len)
{
	struct ether_frame frame[HCA_SWITCH_ROW];
	struct ether_port *port, *other;
	unsigned int count = 1;
	uint32_t off = 0;

	if (unlikely(!take_record(peer, record, len, &port, &frame[0])))
		return -EPROTO;
	for (; count < HCA_SWITCH_ROW; count++) {
		off += fabric_record_bytes(len);
		record = fabric_link_look(peer->link, off, &len);
		/* What is not for this row is looked at again when it comes first. */
		if (!record || *(const uint8_t *)record != ROCE_PKT_ETHER ||
		    !take_record(peer, record, len, &other, &frame[count]) || other != port)
			break;
	}
	return (int)ether_steer_many(port, frame, count, hca_rx_is_starved);
}
