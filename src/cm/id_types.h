/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The communication id as the library sees it. cm.lock guards all of it, except the objects that
 * only the program's own calls on the id use (its QP, CQs, SRQ): the program serialises those calls.
 */
#ifndef CM_ID_TYPES_H
#define CM_ID_TYPES_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cm/handle.h"

struct cm_channel;
struct cm_device;
struct cm_event;
struct cm_resolving;
struct conn;
struct sidr;

TAILQ_HEAD(cm_event_queue, cm_event);

/*
 *	IDLE ──bind──> BOUND ──listen──> LISTEN
 *	                 │ ^
 *	    resolve_addr v │ ADDR_ERROR
 *	             ADDR_QUERY
 *	                 v
 *	          ADDR_RESOLVED ──resolve_route──> ROUTE_RESOLVED ──connect──> CONNECT ──> DISCONNECT
 *
 * From any state with an adapter the id enters REMOVED when the adapter is removed; it can only be
 * destroyed then. From BOUND on the id owns a port; from ADDR_RESOLVED on it has an adapter. The id of a connection
 * request begins in CONNECT; it has no port of its own.
 */
enum cm_id_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTEN,
	CM_ADDR_QUERY,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_CONNECT,
	CM_DISCONNECT,
	CM_REMOVED,
};

struct cm_id {
	struct rdma_cm_id pub;
	struct cm_handle handle;
	enum cm_id_state state;
	bool sync; /* pub.channel is the library's own */

	struct cm_channel *channel; /* the one whose list of ids this one is in, or NULL */
	LIST_ENTRY(cm_id) channel_link;
	struct cm_event_queue events; /* queued and not yet reported */
	int events_reported;          /* and not yet acknowledged */

	struct cm_device *device; /* holds a reference while set */
	LIST_ENTRY(cm_id) device_link;
	int gid_index;
	/* The interface of the GID, with its hardware address when the id was bound, and now. */
	uint32_t ifindex;
	uint8_t bound_mac[6], last_mac[6];

	enum rdma_port_space port_space; /* where port_link is; 0 when in none */
	LIST_ENTRY(cm_id) port_link;
	uint32_t claim; /* of the port, in the host directory; 0: none */
	bool reuse_addr;
	bool af_only;
	bool is_offered;      /* LISTEN: the host knows of the service */
	int backlog;          /* LISTEN: connection requests that may wait to be reported */
	int requests_waiting; /* and that do */

	struct cm_resolving *resolving; /* ADDR_QUERY; otherwise NULL */
	struct conn *conn;              /* NULL before CONNECT */
	bool connect_error; /* reported: what the peer says of it is of no interest any more */
	struct sidr *sidr;  /* likewise, of a datagram id */
	LIST_HEAD(, cm_multicast) multicasts;
	uint32_t seq_num; /* first PSN that the QP expects; random, for the life of the id */
	uint32_t qp_num;  /* of the QP, or what the program passed for a QP of its own */
	bool srq;
	uint8_t responder_resources, initiator_depth;

	uint8_t tos;
	uint8_t ack_timeout;
	bool ack_timeout_set;

	struct ibv_ece local_ece;
	struct ibv_ece remote_ece;

	struct ibv_qp_init_attr *listen_qp_attr; /* passive endpoints: for each accepted id */
	void *connect_data; /* active endpoints: goes in front of the private data */
	size_t connect_len;

	bool resolving_info; /* from rdma_resolve_addrinfo() until its result is fetched */
	struct rdma_addrinfo *resolved_info;
};

/* The name of a state, for explanations. */
static inline const char *cm_state_name(enum cm_id_state state)
{
	static const char *const names[] = {
		[CM_IDLE] = "not bound",
		[CM_BOUND] = "bound",
		[CM_LISTEN] = "listening",
		[CM_ADDR_QUERY] = "resolving its address",
		[CM_ADDR_RESOLVED] = "address resolved",
		[CM_ROUTE_RESOLVED] = "route resolved",
		[CM_CONNECT] = "connecting or connected",
		[CM_DISCONNECT] = "disconnected",
		[CM_REMOVED] = "without its adapter, which was removed",
	};

	return names[state];
}

#endif
