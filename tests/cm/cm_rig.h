/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the tests of connections by address: ids, queue pairs and events, on top of the traffic
 * tests' processes and checks.
 */
#ifndef CM_RIG_H
#define CM_RIG_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "rig.h"

/* -1 and this errno. */
#define check_errno(call, want)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		check_equal(call, -1);                                                             \
		check_equal(errno, want);                                                          \
	} while (0)

/* An IPv4 address of the adapter under test. The test is skipped when it has none. */
struct sockaddr_in own_address(uint16_t port);
unsigned int scale(void); /* TRAFFIC_SCALE */

struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, int backlog);
uint16_t port_of(struct rdma_cm_id *listener);
/* An id with a route to the port at our own address, and no QP. */
struct rdma_cm_id *route_to(struct rdma_event_channel *channel, uint16_t port);
/* A QP with the library's PD and CQs. */
void make_qp(struct rdma_cm_id *id);
enum ibv_qp_state qp_state(struct rdma_cm_id *id);
struct ibv_qp_attr qp_attr(struct rdma_cm_id *id);
void destroy(struct rdma_cm_id *id); /* with its QP */

/* The next event, which must be this one. */
struct rdma_cm_event *expect_at(const char *file, int line, struct rdma_event_channel *channel,
				enum rdma_cm_event_type type, int status);
#define expect(channel, type, status)                                                              \
	expect_at(__FILE__, __LINE__, channel, RDMA_CM_EVENT_##type, status)
#define expect_ack(channel, type, status) check_ok(rdma_ack_cm_event(expect(channel, type, status)))
/* The id of the next request. */
struct rdma_cm_id *expect_request(struct rdma_event_channel *channel);
/* No event is there now. */
void check_quiet(struct rdma_event_channel *channel);

/* With CQs that all ids of the process share, so that there may be many. */
void make_small_qp(struct rdma_cm_id *id);

/* Accepts what comes and disconnects what ends, until so many connections have ended. */
void serve(struct rdma_event_channel *channel, unsigned int count);

/* Memory that the process has allocated, and descriptors that it has open. */
struct holdings {
	size_t bytes;
	unsigned int fds;
};
struct holdings holdings(void);
/* Waits until the process has no more than before. */
void check_given_back(const struct holdings *before);

/* Two ids of this process, connected, each with a channel of its own. */
struct cm_pair {
	struct rdma_event_channel *listen_channel, *channel;
	struct rdma_cm_id *listener, *active, *passive;
};

/* Up to the request, up to the reply (unread), and all of it. */
struct cm_pair pair_requested(void);
struct cm_pair pair_accepted(void);
struct cm_pair pair_connected(void);
void pair_end(struct cm_pair *p); /* ids may be NULL */

#endif
