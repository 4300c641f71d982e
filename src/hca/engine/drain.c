/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving from a link: records become packets or frames, and find their queue pair. The fabric
 * calls with the link's receive lock held, from threads that poll and from the service thread.
 */
#include "hca/engine/drain.h"

#include <errno.h>
#include <string.h>

#include "fabric/clock.h"
#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/peers/rpc.h"
#include "hca/queue/doorbell_trap.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer_map.h"
#include "hca/transport/acks.h"
#include "hca/transport/completer.h"
#include "hca/transport/dct.h"
#include "hca/transport/grh.h"
#include "hca/transport/observer.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/responder.h"
#include "hca/raw/vswitch.h"
#include "hca/queue/rx_seq.h"
#include "hca/wire/wire_rx.h"
#include "hca/raw/wq.h"
#include "hca/transport/xrc_forward.h"
#include "hca/transport/xrc_guest.h"

#define DRAIN_MOST  256
#define DRAIN_BYTES (256u << 10)
/* A process that only receives frames pauses a link that brings fewer than this at a time, so that more gather. */
#define FEW_FRAMES 32u
#define RECEIVE_ONLY_TURNS                                                                         \
	32u /* turns with frames without sending one: the process only receives */
#define FRAME_PAUSE_NS 2000u

/* Resolves payload by reference: pieces of the sender's memory. */
static bool resolve_refs(struct hca_peer *peer, const struct roce_pkt *pkt, const char *body,
			 struct hca_list *list)
{
	struct roce_ref ref;

	list->count = 0;
	list->total = 0;
	epoch_visit();
	for (unsigned int i = 0; i < pkt->refs; i++) {
		struct hca_seg *seg = &list->seg[list->count++];
		struct hca_mr_entry e;
		char *base;

		memcpy(&ref, body + i * sizeof(ref), sizeof(ref));
		if (!hca_entry_snapshot(&peer->segment->mr[ref.key >> 8], ref.key, &e) ||
		    e.flags & HCA_MR_INDIRECT || !hca_entry_reaches(&e, ref.addr, ref.len))
			return false;
		*seg = (struct hca_seg){ .len = ref.len, .kind = HCA_SEG_PLAIN };
		base = hca_peer_map(peer, &e, ref.key);
		if (base) {
			seg->ptr = base + (ref.addr - e.iova);
		} else if (peer->can_vm) {
			seg->ptr = (char *)(uintptr_t)(e.va + (ref.addr - e.iova));
			seg->kind = HCA_SEG_REMOTE;
			seg->pid = peer->pid;
		} else {
			return false;
		}
		list->total += ref.len;
	}
	return true;
}

/*
 * The payload of a record cannot be read while the peer's memory is suspended (memory/mr_suspend.h), unless the
 * kernel copies it: the record stays where it is.
 */
static bool must_wait(const struct hca_peer *peer, const void *record)
{
	return !peer->is_self && ((const struct roce_pkt *)record)->flags & ROCE_PKT_BY_REF &&
	       /* [SG1] */
	       atomic_load_explicit(&peer->segment->share_generation, memory_order_acquire) & 1;
}

static bool take_payload(struct hca_peer *peer, struct roce_pkt *pkt, const char *body,
			 uint32_t len, struct hca_list *list, const uint8_t **grh)
{
	*grh = NULL;
	if (pkt->flags & ROCE_PKT_BY_REF) {
		if (pkt->refs > HCA_MAX_SGE || len < pkt->refs * sizeof(struct roce_ref))
			return false;
		if (!resolve_refs(peer, pkt, body, list) || list->total != pkt->len) {
			/* A list that fails when it is copied: the responder then sends the NAK. */
			list->count = 1;
			list->total = pkt->len;
			list->seg[0] = (struct hca_seg){ .kind = HCA_SEG_REMOTE, .len = pkt->len };
		}
		return true;
	}
	if (len < pkt->len)
		return false;
	if (pkt->flags & ROCE_PKT_GRH) {
		if (pkt->len < HCA_GRH_BYTES)
			return false;
		*grh = (const uint8_t *)body;
		body += HCA_GRH_BYTES;
		pkt->len -= HCA_GRH_BYTES;
	}
	list->count = 1;
	list->total = pkt->len;
	list->seg[0] = (struct hca_seg){ .ptr = (char *)body, .len = pkt->len };
	return true;
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

static bool dispatch(struct hca_peer *peer, const char *record, uint32_t len)
{
	struct hca_list list;
	const uint8_t *grh;
	const struct observer *observer;
	struct roce_pkt pkt;
	struct qp *qp;

	if (unlikely(len < ROCE_PKT_RECORD))
		return false;
	memcpy(&pkt, record, ROCE_PKT_RECORD);
	if (unlikely(!take_payload(peer, &pkt, record + ROCE_PKT_RECORD, len - ROCE_PKT_RECORD,
				   &list, &grh)))
		return false;
	if (unlikely(pkt.op == ROCE_PKT_FORWARD)) {
		wire_rx_forwarded(record + ROCE_PKT_RECORD, len - ROCE_PKT_RECORD);
		return true;
	}
	if (unlikely(pkt.op == ROCE_PKT_RPC_CALL || pkt.op == ROCE_PKT_RPC_REPLY))
		return rpc_record(peer->id, record + ROCE_PKT_RECORD, pkt.len,
				  pkt.op == ROCE_PKT_RPC_REPLY);
	qp = qp_find(pkt.dqpn);
	if (unlikely(qp && qp->dct))
		qp = dct_session(qp, peer, &pkt);
	if (unlikely(!qp) && (pkt.op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_XRC)
		qp = xrc_guest(peer, &pkt);
	if (unlikely(!qp))
		return true;
	fabric_lock(&qp->pub.lock);
	if (likely(!qp->dying && packet_filter_pass(qp, &pkt, grh, false))) {
		qp_traffic_count(qp, &pkt, pkt.len, false);
		observer = observer_get();
		if (unlikely(observer) && observer->received)
			observer->received(qp, &pkt, &list, grh);
		if (unlikely(is_answer(pkt.op) && qp->pub.type == HCA_QP_XRC_RECV))
			xrc_forward_answer(qp, peer, &pkt, &list);
		else if (is_answer(pkt.op))
			completer_packet(qp, &pkt, &list);
		else
			responder_packet(qp, peer, &peer->acks, &pkt, &list, grh);
	}
	fabric_unlock(&qp->pub.lock);
	return true;
}

/*
 * After frames were received. A sender that sends few at a time to a process that sends none follows the
 * receiver's pace: a pause lets frames gather.
 */
static void pause_link(struct fabric_link *link, struct hca_peer *peer, unsigned int frames)
{
	if (vswitch_has_sent())
		peer->receive_only = 0;
	else if (peer->receive_only < RECEIVE_ONLY_TURNS)
		peer->receive_only++;
	else if (frames < FEW_FRAMES)
		fabric_link_pause(link, fabric_now_ns() + FRAME_PAUSE_NS);
}

/* Releases the record that was peeked at, and those behind it. */
static uint64_t release(struct fabric_link *link, const void *record, int count)
{
	uint64_t bytes = 0;
	uint32_t len;

	do {
		bytes += ((const struct roce_pkt *)record)->len;
		fabric_link_release(link);
	} while (--count && (record = fabric_link_peek(link, &len)));
	return bytes;
}

unsigned int drain_link(struct fabric_link *link)
{
	struct hca_peer *peer = link->user;
	bool mine = fabric_service_is_self();
	unsigned int n = 0;
	const void *record;
	bool frames = false;
	uint64_t bytes = 0;
	uint32_t len;
	int done;

	if (unlikely(!peer))
		return 0;
	if (unlikely(mine))
		rx_seq_begin();
	epoch_enter();
	while (n < DRAIN_MOST && (record = fabric_link_peek(link, &len))) {
		if (*(const uint8_t *)record == ROCE_PKT_ETHER) {
			if (!frames) {
				frames = true;
				wq_rx_begin();
			}
			done = vswitch_receive(peer, record, len);
		} else {
			/* Queue pairs are locked outside of the frames' lock. */
			if (frames) {
				frames = false;
				wq_rx_end();
			}
			if (unlikely(!peer->can_vm) && len >= ROCE_PKT_RECORD &&
			    must_wait(peer, record))
				break;
			done = dispatch(peer, record, len) ? 1 : -EPROTO;
		}
		if (unlikely(done <= 0)) {
			if (done)
				fabric_link_corrupt(link);
			break;
		}
		bytes += release(link, record, done);
		n += done;
		/* Long messages take time, and senders wait for acknowledgements. */
		if (unlikely(bytes >= DRAIN_BYTES))
			break;
	}
	if (frames) {
		wq_rx_end();
		pause_link(link, peer, n);
	}
	if (peer->acks.count)
		acks_settle(&peer->acks, mine);
	epoch_exit();
	if (unlikely(mine))
		rx_seq_end();
	doorbell_watch_note_rx();
	doorbell_trap_note_rx();
	return n;
}
