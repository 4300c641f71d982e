/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a queue pair. Requester (requests), completer (answers to them), the window of requests
 * between both, and responder (requests of the peer) each have a struct, written by the files named at
 * it only, under the QP's lock.
 */
#ifndef HCA_QP_TYPES_H
#define HCA_QP_TYPES_H

#include <endian.h>
#include <sys/queue.h>

#include "fabric/traffic_block.h"
#include "hca/device/async.h"
#include "hca/peers/peer.h"
#include "hca/memory/mem.h"
#include "hca/queue/doorbell_source.h"
#include "hca/transport/hca_qp.h"
#include "hca/transport/carrier.h"
#include "roce/packet.h"
#include "util/heap.h"

/* Payload of a packet on a link: a compromise between headers and the length of a record. */
#define QP_LINK_MTU 8192u
/* The congestion window in packets: at first, what the buffer of an untuned UDP socket holds. */
#define QP_CWND_FIRST 32u
#define QP_CWND_LEAST 8u
#define QP_CWND_MOST  256u
/* A read from another host is requested in pieces that begin and end at multiples of this. */
#define QP_READ_PIECE (64u << 10)
#define QP_WINDOW     128u /* requests that may wait for an answer; a power of two */

struct qp;

/* A request that was sent and not answered yet. */
struct req_slot {
	uint32_t index; /* ring slot */
	uint32_t first_psn, last_psn;
	uint32_t length;
	uint32_t got; /* bytes of a read that have come back; FLUSH: 1 when it is answered */
	uint16_t counter;
	uint16_t blocks;
	uint8_t op;
	bool signaled;
	bool local; /* sends no packet: complete as soon as all requests before it are */
};

/* Requests between requester and completer, in the order of the send queue. Written by window.c and window.h. */
struct window {
	struct req_slot *slots; /* allocated with the first request that waits */
	uint32_t head, tail;    /* free running */
	uint32_t reads;         /* reads and atomics among the requests */
	/* read requests and atomics without an answer; a read may take several */
	uint32_t reads_out;
};

/*
 * Requests that are to be sent, or are being sent. Written by requester.c, requester.h, request.c, send.c, datagram.c, direct.c and
 * local_op.c. Fields that every request uses come first.
 */
struct requester {
	uint32_t producer;   /* of the last doorbell */
	uint32_t next;       /* slot of the first request that is not wholly sent */
	uint32_t psn;        /* of the next packet */
	uint32_t high;       /* behind the last PSN that was ever sent */
	uint32_t sent;       /* bytes of the request at `next` that were sent, or requested */
	bool partial;        /* `sent` and the window's last slot belong to the request at `next` */
	bool resending;      /* requests from `next` to `resend_end` are sent again */
	bool ack_delayable;  /* the peer may delay the acknowledgement of the last request */
	bool hello_sent;     /* the peer was told that the connection is in use, without packets */
	bool announced;      /* DCI: a target on this host knows of the session */
	bool awaits_path;    /* the request at `next` waits for a link that is being made */
	uint32_t resend_end; /* while resending: behind the last request that was sent before */
	uint32_t first_psn;  /* when the QP went to RTS */
	/* the datagram at `next`, to a group: it has begun; the member whose turn it is */
	bool group_begun;
	uint16_t group_next;
	uint64_t group_since_ns; /* since when that member's link has had no room; 0: it has */
	/* The request at `next` has invalidated a memory window: readers of it have to finish. */
	struct grace_period *grace;
};

/* Probes of a connection that loses packets. Written by probe.c, `outstanding` by completer.c, too. */
struct probe {
	bool lossy;           /* the connection has lost packets lately */
	bool outstanding;     /* one packet was sent again; no more are sent until it is answered */
	uint8_t unanswered;   /* probes since the last answer */
	bool never_answered;  /* a timeout expired, and no answer ever came */
	uint32_t acks;        /* answers that acknowledged something new */
	uint32_t acks_seen;   /* `acks` and `stale` when the probe timer was set */
	uint32_t rtt_psn;     /* the packet whose round trip is measured */
	uint64_t rtt_sent_ns; /* when it was sent; 0: none is measured */
	uint64_t rtt_ns;
	uint64_t lost_at;
	uint64_t at; /* when the timer expires; 0: no timer */
};

/*
 * Answers of the peer and their absence: acknowledgements, retries, timers. Written by completer.c,
 * progress.h, timer.c, timer.h, probe.c, probe.h and cwnd.h. Fields that every request or answer uses come
 * first.
 */
struct completer {
	uint64_t rnr_until;  /* nothing is sent before; 0: no delay */
	uint64_t timeout_at; /* 0: no timer */
	uint32_t una;        /* oldest unacknowledged PSN */
	uint8_t retries;     /* since the last progress */
	uint8_t rnr_retries;
	uint8_t nak; /* syndrome of the peer's last refusal; 0: none, or a timeout came since */
	uint8_t stale_timeouts; /* timeouts that did not count, because stale packets came */
	bool progress;          /* an answer came since the timer was set */
	uint32_t cwnd;          /* congestion window, in packets; for packets that may get lost */
	uint32_t ssthresh;      /* slow-start threshold, in packets */
	uint32_t cwnd_acked;    /* packets acknowledged since the window last grew */
	uint32_t stale;         /* packets of data that an earlier attempt had requested */
	struct probe probe;
	uint64_t late_since; /* since when a late peer on this host is waited for; 0: it is not */
	uint32_t stale_at_timer; /* `stale` when the timer was set */
	uint32_t gap_psn;        /* the last packet that came behind a gap in the data of a read */
	bool read_rerequested;   /* ... and the data was requested again */
	bool unread_awaited;     /* the timer has expired once while packets were unread */
	/* refusals of later requests while the answer to `passed_psn` was awaited */
	uint8_t passed;
	uint32_t passed_psn;
	uint64_t passed_since;
};

#define RESP_RESOURCES 16u

/*
 * A read, atomic, atomic write or flush of the peer, one of the last RESP_RESOURCES. Duplicates are answered
 * from here: a read is executed again, the result of the others repeated (IBTA volume 1, 9.7.5.1.2).
 */
struct resp_resource {
	uint32_t psn, last_psn;
	uint8_t op;    /* packet opcode; 0xff: free */
	bool due;      /* an answer is to be sent */
	bool again;    /* the answer is to a duplicate */
	bool whole;    /* a whole read, or its last piece */
	uint64_t orig; /* value before an atomic */
	uint64_t va;
	uint32_t rkey, length, srqn;
	/* the answer to a read: offsets of its first byte, its end, and the next byte to be sent */
	uint32_t from, upto, sent;
};

/* A message to a tag matching receive queue (tag_recv.c). */
struct resp_tag {
	uint8_t what;       /* enum hca_tm_what of its completion; 0: no such message */
	uint16_t index;     /* of the tagged buffer, when `what` is a match */
	bool reads;         /* a rendezvous whose data is read when the message ends */
	bool run;           /* ... and the requester is to do so */
	uint8_t header[32]; /* its first bytes: tag matching header, rendezvous header */
};

/*
 * Written by responder.c, recv.c, recv.h, fault.c, answer.c, answer.h, resource.c, reorder.c, tag_recv.c
 * and xrc_forward.c.
 */
struct responder {
	uint32_t epsn;        /* expected PSN */
	uint32_t msn;         /* requests that are complete, free running beyond its 24 bits */
	bool nak_sent;        /* the expected packet was NAKed */
	bool dropping_behind; /* ... as not acceptable now: packets behind it are dropped silently */
	uint8_t nak_repeats;  /* sequence NAKs for this gap after the first */
	uint32_t nak_trigger_psn; /* the packet that showed the gap */
	bool established;
	bool ack_urgent;    /* the acknowledgement that is due must not be delayed */
	bool reply_pending; /* the QP has sent no request since the last one of the peer */
	uint8_t nak_due;    /* syndrome of a NAK for which there was no room; 0: none */
	uint32_t nak_psn;
	uint8_t last_op; /* of the message in progress: a FIRST or MIDDLE opcode, or NO_MESSAGE */
	/* message in progress */
	bool has_recv;
	uint16_t rq_left;      /* receive entries known to be posted, and not consumed yet */
	uint32_t rq_taken;     /* receive entries consumed, free running */
	struct hca_recv *recv; /* allocated with the first receive */
	uint64_t offset;
	uint64_t va;
	uint32_t rkey, left;
	struct hca_srq *recv_srq; /* XRC: may be destroyed meanwhile; recv_check_srq() tells */
	uint64_t recv_srq_serial;
	uint32_t recv_srqn;
	struct resp_tag tag;
	/* XRC requests for shared receive queues of another process (xrc_forward.c) */
	fabric_id_t fwd_owner; /* that process; FABRIC_ID_NONE: requests stay here */
	uint32_t fwd_una;      /* oldest PSN that is not known to be done there */
	bool fwd_restart;      /* the next forwarded request starts the numbering anew */
	bool fwd_resend;       /* requests were dropped, and have to be requested again */
	struct resp_resource *resource;
	uint32_t resource_next;  /* free running: index of the next one */
	uint32_t resource_first; /* of the oldest one that may have an answer due */
	struct reorder *reorder; /* packets that came too early (reorder.c), or NULL */
};

/* Calls on a queue pair that another process has made. */
struct stand_in_ops {
	int (*modify)(struct qp *qp, const struct hca_qp_attr *attr, uint32_t mask);
	void (*query)(struct qp *qp, struct hca_qp_attr *out);
	int (*destroy)(struct qp *qp);
};

/* Where the peer's packets come from, on the wire (hca/wire/wire_source.c). Under the QP's lock. */
enum qp_place { QP_PLACE_UNKNOWN, QP_PLACE_HERE, QP_PLACE_ELSEWHERE };

struct qp_source {
	uint16_t other_port; /* of packets before those from peer_sport; 0: none */
	uint8_t place;       /* enum qp_place: whether the peer is on this host */
	bool has_uid;
	uint32_t uid;   /* with has_uid: it is, and packets of other users are dropped */
	uint32_t wrong; /* packets with wrong numbers since wrong_since_ns */
	uint64_t wrong_since_ns;
};

/* Sums of what qp_count() counts, for viewers (hca/inspect/snapshot.h). */
enum qp_trouble {
	QP_TROUBLE_RETRY, /* timeouts, sequence NAKs and gaps in reads: requests that were sent again */
	QP_TROUBLE_RNR,     /* the peer had no receive */
	QP_TROUBLE_NO_RECV, /* messages of the peer found no receive */
	QP_TROUBLE_ERROR,   /* completions with an error, ... */
	QP_TROUBLE_FLUSHED, /* ... but for flushed ones */
	QP_TROUBLES,
};

struct qp {
	struct hca_qp pub; /* first */
	struct hca_qp_attr attr;
	uint32_t xrcd;
	uint32_t mcast; /* groups attached */
	struct requester req;
	struct window window;
	struct completer comp;
	struct responder resp;
	/* of the responder; written under the lock and read without it, relaxed */
	_Atomic bool ack_due;
	_Atomic uint8_t
		replies; /* requests of the peer in a row that a request of this QP followed soon */
	bool remote;     /* connected to another host, by the carrier */
	bool blocked;    /* on the list of a carrier that had no room (blocked_list.h) */
	bool guest;      /* stands for a queue pair of another process (xrc_guest.c) */
	bool dying;
	bool drained_told;
	bool last_wqe_told;
	uint16_t peer_sport; /* wire: UDP source port of the peer's last packet; 0: none has come */
	struct hca_peer *peer; /* connected to a process of this host */
	uint32_t mtu;          /* payload bytes of a packet */
	uint32_t one_packet;   /* shorter payloads are one packet of a path MTU (qp_traffic.h) */
	uint32_t link_headers; /* bytes of headers below the BTH, and of the ICRC */
	struct fabric_traffic *traffic; /* where it counts its packets, or NULL */
	uint32_t read_bytes_most; /* bytes of read responses that the carrier takes at a time */
	/* beyond this host: how packets leave, and what the carrier knows of the QP; or NULL */
	const struct carrier *carrier;
	struct qp_wire *wire;
	struct qp_local_capture
		*capture;      /* what a capture has counted (local_capture.c), or NULL */
	uint64_t dc_key;       /* DCT: its key; DCI: that of the target */
	struct dci *dci;       /* of an initiator, or NULL (dci.c) */
	struct dct *dct;       /* of a target, or NULL (dct.c) */
	struct tag_sq *tag_sq; /* the send queue that tag matching uses, or NULL (tag_sq.c) */
	_Atomic uint64_t *port_counts; /* of its port (qp_count.h); NULL before INIT */
	struct hca_comp_cntr **cntr;   /* by enum hca_cntr_op; NULL: none is attached */
	LIST_ENTRY(qp) all;            /* of qp_table.c, or the stand-ins of xrc_open.c */
	struct qp *blocked_next;
	struct raw_qp *raw_qp;        /* raw packets (raw/raw.c) */
	struct deflate_work *deflate; /* since the first such request (mmo.c), or NULL */
	struct hca_shaper *shaper;    /* held, or NULL */
	LIST_HEAD(, hca_listener) listeners;
	/* tells other processes that have the QP open of an event; NULL: none has */
	void (*event_hook)(const struct qp *qp, enum hca_event_type type);
	struct heap_node timer;          /* of timer.c */
	struct doorbell_source doorbell; /* watched: the program posts by hand (qp_watch.c) */
	/* a stand-in for a queue pair of another process: what calls on it do (xrc_open.c); or NULL */
	const struct stand_in_ops *stand_in;
	fabric_id_t owner;             /* ... that process; 0: the queue pair is ours */
	uint32_t local_gid_changes;    /* hca_gid_changes when local_gid_seen was found */
	struct hca_gid local_gid_seen; /* a destination that is on this host */
	bool local_gid_valid;
	bool orphan; /* only other processes have it open; under the lock of xrc_openers.c, as is the next */
	bool closed;            /* cannot be opened any more */
	bool granted;           /* peers may be inside of accesses that the QP has permitted ... */
	fabric_id_t granted_to; /* ... this one, or any (qp_grant.h) */
	struct qp_source source;
	/* for viewers (hca/inspect/snapshot.h): what `traffic` had counted before that went to the rows of ports */
	uint64_t traffic_before[FABRIC_TRAFFIC_COUNTS];
	_Atomic uint32_t trouble[QP_TROUBLES]; /* qp_count.h */
};

#define OP_BIT(name) (1u << HCA_OP_##name)
/* Operations with an answer of their own, for which the responder needs a resource (IBTA volume 1, A19 too). */
#define OPS_MASKED (OP_BIT(MASKED_CMP_SWAP) | OP_BIT(MASKED_FETCH_ADD))
#define OPS_RETURN (OP_BIT(READ) | OP_BIT(CMP_SWAP) | OP_BIT(FETCH_ADD) | OPS_MASKED)
#define OPS_READ   (OPS_RETURN | OP_BIT(FLUSH) | OP_BIT(ATOMIC_WRITE))

static inline bool op_is_read(unsigned int op)
{
	return OPS_READ >> op & 1;
}

/* Atomics of the specification; masked ones have operands and packets of their own. */
static inline bool op_is_atomic(unsigned int op)
{
	return (OP_BIT(CMP_SWAP) | OP_BIT(FETCH_ADD)) >> op & 1;
}

static inline bool op_is_masked(unsigned int op)
{
	return OPS_MASKED >> op & 1;
}

/* The answer brings data, which needs a place. */
static inline bool op_returns_data(unsigned int op)
{
	return OPS_RETURN >> op & 1;
}

static inline bool op_is_one_sided(unsigned int op)
{
	return ((OP_BIT(WRITE) | OPS_READ) & ~OP_BIT(FLUSH)) >> op & 1;
}

/* The value of `got` when the answer has arrived. */
static inline uint32_t slot_awaits(const struct req_slot *slot)
{
	return unlikely(slot->op == HCA_OP_FLUSH) ? 1 : slot->length;
}

static inline struct qp *to_priv(struct hca_qp *qp)
{
	return (struct qp *)qp;
}

/*
 * Rights of the peer at the queue pair. Without responder resources there are no reads, atomics and
 * flushes, whatever else was granted.
 */
static inline uint32_t qp_access(const struct qp *qp)
{
	bool dynamic = qp->pub.type == HCA_QP_DCT || qp->pub.type == HCA_QP_DCR;

	if (likely(qp->attr.max_dest_rd_atomic) || dynamic)
		return qp->attr.access;
	return qp->attr.access &
	       ~(uint32_t)(HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_FLUSH);
}

/* The rights that a FLUSH needs, of the queue pair and of the region. */
static inline uint32_t qp_flush_access(uint32_t feth)
{
	return (feth & ROCE_FETH_GLOBAL ? HCA_ACCESS_FLUSH_GLOBAL : 0) |
	       (feth & ROCE_FETH_PERSISTENT ? HCA_ACCESS_FLUSH_PERSISTENT : 0);
}

/* The request has an answer of its own, which its duplicates get again. */
static inline bool qp_pkt_takes_resource(const struct roce_pkt *pkt)
{
	const uint32_t ops = 1u << ROCE_PKT_READ_REQUEST | 1u << ROCE_PKT_CMP_SWAP |
			     1u << ROCE_PKT_FETCH_ADD | 1u << ROCE_PKT_FLUSH |
			     1u << ROCE_PKT_ATOMIC_WRITE | 1u << ROCE_PKT_MASKED_ATOMIC;

	return ops >> (pkt->op & ROCE_PKT_OPCODE_MASK) & 1;
}

/*
 * The value before an atomic as the requester stores it: 8 bytes in the byte order of its context,
 * 4 bytes in network order always, in the first half of the result.
 */
static inline uint64_t qp_atomic_reply(const struct qp *qp, uint64_t value, uint32_t size)
{
	const struct hca_ctx *ctx = qp->pub.ctx;

	if (unlikely(size == 4))
		return htobe64(value << 32);
	return unlikely(atomic_load_explicit(&ctx->atomic_reply_be, memory_order_relaxed))
		       ? htobe64(value)
		       : value;
}

static inline void qp_set_peer(struct qp *qp, struct hca_peer *peer)
{
	qp->peer = peer;
	qp->remote = false;
	if (likely(!qp->guest)) /* whose requests have come another way before */
		qp->mtu = QP_LINK_MTU;
}

#define NO_MESSAGE 0xff /* responder.last_op: no message is in progress */

/* Whether there is a request at `next`. */
static inline bool qp_send_is_posted(const struct qp *qp)
{
	return hca_sq_ready(qp->pub.format, &qp->pub.sq, qp->req.next, qp->req.producer);
}

/* Some answer to a read or atomic is due: acknowledgements of later requests must wait. */
static inline bool qp_answer_is_due(const struct qp *qp)
{
	return qp->resp.resource_first != qp->resp.resource_next;
}

static inline bool qp_is_reliable(const struct qp *qp)
{
	const uint32_t types = 1u << HCA_QP_RC | 1u << HCA_QP_XRC_RECV | 1u << HCA_QP_DCR;

	return types >> qp->pub.type & 1;
}

/* XRC: requests were forwarded to another process, which has not answered all of them. */
static inline bool qp_has_forwarded(const struct responder *r)
{
	return unlikely(r->fwd_owner) && r->fwd_una != r->epsn;
}

/* The transport bits of the opcodes of answers. */
static inline uint8_t qp_answer_transport(const struct qp *qp)
{
	switch (qp->pub.type) {
	case HCA_QP_XRC_RECV:
		return ROCE_TR_XRC;
	case HCA_QP_DCR:
		return ROCE_TR_DC;
	default:
		return ROCE_TR_RC;
	}
}

#endif
