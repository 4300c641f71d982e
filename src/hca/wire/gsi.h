/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The general services interface: management datagrams (MADs) to and from queue pair 1, which no
 * program can create. All processes of a host share queue pair 1 of each port, so a MAD that arrives
 * is forwarded to the process that it is for (IBTA volume 1, chapters 12, 13 and 16):
 *
 * - REQ and SIDR_REQ of the connection manager by their service id, and by the address that they were
 *   sent to when several processes listen to one service;
 * - other messages of the connection manager by the receiver's communication id, SIDR_REP by its
 *   request id, responses of other classes by the upper half of their transaction id: ids of
 *   hca_gsi_comm_id() and hca_gsi_tid() contain the process;
 * - requests of other classes to a process that has an agent for the class.
 *
 * A MAD for no process goes to the agent of the process that received it, if it has one: only a
 * connection manager can reject a request. Otherwise it is dropped and counted.
 *
 * An agent's functions are called on the service thread, one call at a time. They may call any function here
 * but hca_gsi_agent_destroy(), which waits for them, and must not block for long.
 */
#ifndef HCA_GSI_H
#define HCA_GSI_H

#include "hca/device/adapter.h"
#include "hca/device/work.h"
#include "hca/wire/gsi_mad.h"

/* A MAD that has arrived. */
struct hca_gsi_mad {
	const struct hca_adapter *adapter;
	struct hca_av from;  /* the way back: port, index of our GID, the sender's GID and LID */
	struct hca_gid dgid; /* that it was sent to; zeros without GRH */
	uint32_t sqpn;
	uint16_t pkey;
	uint8_t mad[HCA_MAD_BYTES];
};

struct hca_gsi_ops {
	void (*receive)(void *arg, const struct hca_gsi_mad *mad);
	void (*timer)(void *arg); /* may be NULL */
	/* A process of this host, as in hca_gsi_process_of(), is gone that exchanged messages with this one. May be NULL. */
	void (*gone)(void *arg, uint32_t process);
	/* The hardware address of an interface has changed, or an adapter has come or gone. May be NULL. */
	void (*changed)(void *arg);
};

struct hca_gsi_agent;

/*
 * Opens queue pair 1 of all ports for messages of one class. -EEXIST when this process has an agent
 * for the class. The fabric must be joined (an open context).
 */
VB_API int hca_gsi_agent_create(uint8_t mgmt_class, const struct hca_gsi_ops *ops, void *arg,
				struct hca_gsi_agent **out);
/* When it returns, no function of the agent runs or will run. */
VB_API void hca_gsi_agent_destroy(struct hca_gsi_agent *agent);
/* The agent's timer() runs at `ns` (CLOCK_MONOTONIC), unless an earlier time is set. */
VB_API void hca_gsi_set_timer(struct hca_gsi_agent *agent, uint64_t ns);

/* Calls changed() of the agents if there was a change. Service thread. */
void gsi_notice_changes(void);

struct forward;
struct peer_listener;

extern const struct peer_listener gsi_peer_listener;

/* A packet for queue pair 1, from the wire or forwarded by a process. Inside an epoch section. */
void gsi_packet(const struct forward *f, const uint8_t *data, bool is_forwarded);

#endif
