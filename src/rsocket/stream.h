/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream rsocket: its phases, its members, its creation.
 *
 *	NEW ──rbind──> BOUND ──rlisten──> LISTENING ──(request)──> a new socket in ACCEPTING
 *	 └──────┬────────┘
 *	     rconnect
 *	        v
 *	RESOLVING_ADDR ──> RESOLVING_ROUTE ──> CONNECTING, ACCEPTING ──> CONNECTED
 *	        └──────────────────┴───────────────┴──> FAILED              │ │
 *	                          DISCONNECT exchanged: DISCONNECTED <──────┘ └──> BROKEN
 *
 * From CONNECTED on there is an endpoint (QP, CQ, buffers). In CONNECTED, can_read and can_write say
 * which directions are open; in all later phases both are closed. Data that has arrived can be
 * read in every later phase. rclose() leads to CLOSED from anywhere: events are ignored then.
 *
 * base.lock guards all members, unless a comment says otherwise.
 */
#ifndef RSOCKET_STREAM_H
#define RSOCKET_STREAM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/queue.h>

#include "rsocket/cm_owner.h"
#include "rsocket/recv_queue.h"
#include "rsocket/send_ring.h"
#include "rsocket/socket.h"
#include "rsocket/watch.h"
#include "rsocket/wire.h"

enum rs_phase {
	RS_NEW,
	RS_BOUND,
	RS_LISTENING,
	RS_RESOLVING_ADDR,
	RS_RESOLVING_ROUTE,
	RS_CONNECTING,
	RS_ACCEPTING,
	RS_FAILED,
	RS_CONNECTED,
	RS_DISCONNECTED,
	RS_BROKEN,
	RS_CLOSED,
};

/* Send queue entries that only control messages use. A power of 2. */
#define RS_CTRL_SLOTS 4

/* The queue pair and what it uses: endpoint.c */
struct rs_endpoint {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	bool armed;               /* the CQ reports its next completion to the channel */
	unsigned int events_seen; /* and not acknowledged */
	struct ibv_mr *send_mr;   /* send buffer and control slots */
	struct ibv_mr *recv_mr;   /* what the peer writes: target SGL, iomap, receive buffer */
	void *send_memory, *recv_memory;
	size_t send_memory_len, recv_memory_len;
	struct rs_sge *sgl;                /* in recv_memory */
	struct rs_iomap_entry *iomap;      /* in recv_memory, behind the SGL */
	struct rs_iomap_entry *iomap_copy; /* as announced by messages; NULL without iomap */
};

/* The peer's memory, as its messages have told. */
struct rs_peer {
	bool swap;           /* its byte order is the other one */
	struct rs_sge sgl;   /* its target SGL; length counts entries */
	uint32_t sgl_at;     /* the entry that is written next */
	uint64_t iomap_addr; /* key as in sgl */
	uint16_t iomap_size;
	struct rs_sge target[RS_SGL_SIZE];   /* its receive buffer, where data goes next */
	unsigned int target_at, target_fill; /* in use; to be filled by the next update */
	uint16_t seq_limit;                  /* data message that may not be sent any more */
};

struct rs_iomap_region;
TAILQ_HEAD(rs_iomap_regions, rs_iomap_region);

struct rs_stream {
	struct rs_socket base; /* first */
	enum rs_phase phase;
	bool can_read, can_write;
	bool shut_write; /* by this side */
	bool reset;      /* ended without the peer's DISCONNECT or SHUTDOWN */
	int error;       /* SO_ERROR */

	struct rdma_cm_id *id; /* its context is &owner */
	struct rs_cm_owner owner;
	struct sockaddr_storage peer_addr; /* rconnect(): to be resolved */
	unsigned int retries;              /* of the resolution under way */
	void *route;                       /* RDMA_ROUTE: paths to use; NULL: resolve */
	size_t route_len;

	/* Listening */
	unsigned int backlog; /* connections that may wait for raccept() */
	unsigned int queued;  /* those, and those that are being accepted */
	unsigned int held_count;
	TAILQ_HEAD(rs_accept_queue, rs_stream) accepted; /* for raccept() */
	/* Sockets of requests; all by the service lock. */
	struct rs_accept_queue held;    /* of a listener: not answered, for want of room */
	LIST_HEAD(, rs_stream) embryos; /* of a listener: ACCEPTING */
	LIST_ENTRY(rs_stream) embryo_link;
	TAILQ_ENTRY(rs_stream) accept_link; /* in `held` or `accepted` */
	struct rs_stream *listener;         /* NULL: in neither `held` nor `embryos` */

	struct rs_endpoint ep;
	struct rs_peer peer;

	/* Sending; the bytes that ring has reserved are filled with send_lock alone. */
	struct rs_send_ring ring;
	uint32_t send_slots;     /* free entries of the send queue, for data */
	unsigned int ctrl_slots; /* free entries, for control messages */
	unsigned int ctrl_seq;   /* control messages sent so far */
	uint16_t seq;            /* of the next data message */

	/* Receiving; unread bytes are copied with recv_lock alone. */
	struct rs_recv_queue rq;
	uint16_t seq_notify; /* credits go to the peer when this many messages have been read */

	/* iomap.c */
	struct rs_iomap_region **iomap_slots; /* peer.iomap_size: our entries in the peer's iomap */
	struct rs_iomap_regions iomap_regions;
	unsigned int iomap_unsent; /* regions that the peer does not know yet */

	/* keepalive.c; watch.fd is -1 without a timer */
	struct rs_watch keepalive;
};

static inline struct rs_stream *rs_to_stream(struct rs_entry *entry)
{
	return (struct rs_stream *)entry;
}

static inline const struct rs_stream *rs_const_stream(const struct rs_socket *socket)
{
	return (const struct rs_stream *)socket;
}

static inline bool rs_is_opening(const struct rs_stream *s)
{
	return s->phase >= RS_RESOLVING_ADDR && s->phase <= RS_ACCEPTING;
}

static inline bool rs_has_endpoint(const struct rs_stream *s)
{
	return s->ep.cq;
}

/* A socket without an id; sizes are those of `like`, or the defaults. NULL: no memory. */
struct rs_stream *rs_stream_create(const struct rs_stream *like, const struct rs_socket_ops *ops);
/* Frees the memory alone. */
void rs_stream_destroy(struct rs_stream *s);

/* With base.lock held: enters a phase, and wakes every sleeping call. */
void rs_stream_enter(struct rs_stream *s, enum rs_phase phase);
/* The connection is lost. */
void rs_stream_break(struct rs_stream *s, int error);
/* The connection could not be made. */
void rs_stream_fail(struct rs_stream *s, int error);

#endif
