/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The communication id as the library sees it. Everything here is guarded by cm_lock; what only
 * the program's own calls on the id touch (its QP, CQs, SRQ) is the program's to serialise.
 */
#ifndef CM_ID_H
#define CM_ID_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cm/handle.h"

struct cm_channel;
struct cm_device;
struct cm_gid;

/*
 *	IDLE ──bind──> BOUND ──listen──> LISTEN
 *	                 │ ^
 *	    resolve_addr v │ ADDR_ERROR
 *	          ADDR_RESOLVED ──resolve_route──> ROUTE_RESOLVED
 *
 * From BOUND on the id owns a port; from ADDR_RESOLVED on it has an adapter.
 */
enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTEN,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
};

struct cm_id {
	struct rdma_cm_id pub;
	struct cm_handle handle;
	enum cm_state state;
	bool sync;           /* pub.channel is our own */
	int events_reported; /* and not yet acknowledged */

	struct cm_device *device; /* holds a reference while set */
	int gid_index;

	enum rdma_port_space port_space; /* where port_link is; 0 when in none */
	LIST_ENTRY(cm_id) port_link;
	bool reuse_addr;
	bool af_only;
	int backlog;

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

static inline struct cm_id *to_cm_id(struct rdma_cm_id *pub)
{
	return (struct cm_id *)pub;
}

/* What the states are called in explanations. */
const char *cm_state_name(enum cm_state state);

/*
 * How a call on an id begins and ends: enter checks the pointer and returns with cm_lock held,
 * or explains and returns -EINVAL without it.
 */
int cm_id_enter(struct rdma_cm_id *pub, const char *call, struct cm_id **out);
void cm_id_leave(void);

/* Takes cm_lock itself. qp_type only matters where the port space does not decide it. */
int cm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **out);

/* With cm_lock held: gives the id an adapter and its default PD. */
int cm_id_attach(struct cm_id *id, const struct cm_gid *gid);

/* With cm_lock held: to a source address (bind.c), and back to IDLE. */
int cm_id_bind(struct cm_id *id, const struct sockaddr *addr);
void cm_id_unbind(struct cm_id *id);

/* With cm_lock held: ADDR_RESOLVED to ROUTE_RESOLVED, and its event (resolve.c). */
int cm_id_set_route(struct cm_id *id, const struct ibv_sa_path_rec *path);

#endif
