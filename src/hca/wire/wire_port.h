/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the wire know of a port, and nobody else: wire.c opens ports and sends, wire_rx.c
 * hands packets to queue pairs, wire_poll.c decides who takes packets in and when acknowledgements
 * leave, wire_group.c has the groups. The locks are explained in wire.c.
 */
#pragma once

#include "hca/device/port.h"
#include "hca/memory/mem.h"
#include "fabric/epoch.h"
#include "hca/transport/egress.h"
#include "hca/wire/reuseport.h"
#include "hca/wire/wire.h"
#include "roce/rx.h"
#include "roce/endpoint.h"

struct wire_port {
	struct roce_addr addr;
	struct roce_endpoint *ep;
	_Atomic bool unwatched;  /* left to the threads that poll */
	_Atomic uint32_t looks;  /* of those; some may get lost */
	uint64_t distrust_ns;    /* until then it is not left to them; service thread */
	uint64_t retrust_ns;     /* unless they look in time then; service thread */
	uint32_t late;           /* how often in a row they did not look; service thread */
	_Atomic bool behind;     /* something may lie unread that is waited for */
	bool pressed;            /* the socket fills up; under rx_lock */
	_Atomic uint32_t denied; /* looks in a row that found the next lock taken */
	uint32_t service_denied; /* the same for the service thread */
	struct fabric_lock tx_lock;
	struct roce_tx *tx;
	_Atomic bool dirty; /* something waits for a flush; written under tx_lock */
	_Atomic bool full;  /* the socket did not take all; written under tx_lock */
	struct fabric_lock rx_lock;
	struct roce_rx *rx;
	struct hca_acks acks;   /* under rx_lock, as are the next two */
	uint64_t acks_ns;       /* since when some of them wait, at the most */
	_Atomic bool waiting;   /* some do; written under rx_lock */
	_Atomic uint32_t idle;  /* looks in a row that found nothing; written under rx_lock */
	struct reuseport steer; /* service thread */
	struct qp *blocked;     /* under tx_lock */
	struct wire_port *next;
};

/* The list only grows, until a fork empties it in the child. */
extern _Atomic(struct wire_port *) wire_ports;

static inline bool wire_port_is_dirty(struct wire_port *port)
{
	return atomic_load_explicit(&port->dirty, memory_order_relaxed);
}

/* The port at an address, opened if need be. `patient`: where a refusal a moment ago will do. */
int wire_port_get(const struct hca_gid_entry *src, bool patient, struct wire_port **out);
void wire_port_flush(struct wire_port *port);

void wire_port_packet(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
		      const struct roce_meta *meta);

/* Whether who polls takes in what lies there, within a moment that it is given. Service thread. */
enum look { LOOK_NEEDLESS, LOOK_SEEN, LOOK_MISSED };
enum look wire_port_await_look(struct wire_port *port);
/* How often that is tried with those who are not relied upon. */
#define WIRE_RETRUST_NS 10000000u

/* `often`: by who comes again soon, and need not look at a quiet port each time. */
void wire_port_poll(struct wire_port *port, bool often);
uint64_t wire_port_acks_turn(struct wire_port *port, uint64_t now_ns);
void wire_port_acks_watch(struct wire_port *port, uint64_t now_ns, uint64_t period_ns);
void wire_port_settle(void);
/* What the service thread waits for at the port's sockets. */
void wire_port_watch(struct wire_port *port, uint32_t events);
void wire_port_readable(void *arg, uint32_t events);
void wire_port_group_readable(void *arg, uint32_t events);

/* From now on the service thread looks after changes of GID tables; soon, unless all are ready. */
void wire_follow_gids(bool all);
/* Groups are joined where addresses have come, and left where they have gone. False: not ready. */
bool wire_groups_reach(void);
void wire_groups_forked(void);
