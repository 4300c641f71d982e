/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter's side of the wire: RoCEv2 for peers that are not on this host (or that shall be
 * reached as if they were not: VERBENA_PATH=wire). Packets are the engine's; roce/ puts them on
 * UDP and takes them off.
 */
#ifndef HCA_WIRE_H
#define HCA_WIRE_H

#include "hca/hca.h"
#include "hca/transport/qp_types.h"
#include "roce/tx.h"

struct wire_port;

/* A queue pair's way over the wire. */
struct qp_wire {
	struct wire_port *port;
	struct hca_gid dgid;
	uint8_t sgid_index;
	uint8_t tclass;
	uint8_t hops;
	uint32_t changes;  /* of GID tables, when the address behind the index was looked up */
	uint16_t sport;    /* as asked for */
	uint32_t unlooked; /* datagrams since somebody looked for complaints */
	uint64_t pause_ns; /* congestion.c: the last pause between datagrams */
	uint64_t cnp_ns, slowed_ns; /* congestion.c: the other end was told; we heeded it */
	struct roce_path path;
};

/* Every path over the wire, also to peers on this host. */
bool wire_forced(void);

/* Whether that way over the wire can be opened from this address. 0 or -errno, explained. */
int wire_check(const struct qp *qp, unsigned int port_num, const struct hca_av *av);
/* Opens what the QP needs to send and to receive. 0 or -errno, explained. Lock held. */
int wire_connect(struct qp *qp, const struct hca_av *av);
/* Whether packets may leave from this port, which is then open. 0 or -errno, explained. */
int wire_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port);
/* A datagram QP hears what comes to any address of its port. */
void wire_listen(struct qp *qp);
void wire_forget(struct qp *qp);

/* Multicast: groups are heard on every interface of the port, and sent to by one address. */
void wire_join(struct qp *qp, const struct hca_gid *group);
void wire_leave(struct qp *qp, const struct hca_gid *group);
void wire_send_group(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
		     const struct hca_list *list);

/* As struct carrier's send(). */
int wire_send(struct qp *qp, struct roce_pkt *pkt, const struct hca_list *list, uint64_t off);
/* Puts on the wire what wire_send() has collected. */
void wire_flush(struct qp *qp);
/* A request has gone out. What was received leaves with it, acknowledged. */
void wire_replied(struct qp *qp);

/* A datagram has gone out. Who does nothing but send hears of congestion, too. */
void wire_datagram_sent(struct qp *qp);

/* Takes in what has arrived, unless another thread is at it. Cheap while there is no wire. */
void wire_poll_ports(void);
static inline void wire_poll(void)
{
	if (unlikely(atomic_load_explicit(&hca.wire.is_open, memory_order_relaxed)))
		wire_poll_ports();
}

/* The program has stopped to poll. */
void wire_idle(void);
/* Looks after threads that poll, every `period_ns`; service thread. */
void wire_watch(uint64_t now_ns, uint64_t period_ns);
/* The poller is about to sleep: acknowledgements that wait for its replies do so no longer. */
void wire_pause(void);

/* Whether packets lie unread where the QP hears from its peer. Service thread, which then reads them. */
bool wire_is_behind(struct qp *qp);

/* A packet that another process received for one of our QPs. */
void wire_forwarded(const void *body, uint32_t len);

/* Service thread: lets those try again who found the socket full. Returns the next deadline. */
uint64_t wire_timers(uint64_t now_ns);

void wire_forked(void);

/* The endpoints that are open; NULL past the last. They stay open. */
const struct roce_endpoint *wire_endpoint(unsigned int i);

#endif
