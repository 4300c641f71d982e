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

#define HCA_GSI_QPN   1u
#define HCA_GSI_QKEY  0x80010000u
#define HCA_MAD_BYTES 256u

enum hca_mad_class {
	HCA_MAD_CM = 0x07,
};

/* Attributes of the connection manager's class: which message it is. */
enum hca_cm_attr {
	HCA_CM_REQ = 0x10,
	HCA_CM_MRA = 0x11,
	HCA_CM_REJ = 0x12,
	HCA_CM_REP = 0x13,
	HCA_CM_RTU = 0x14,
	HCA_CM_DREQ = 0x15,
	HCA_CM_DREP = 0x16,
	HCA_CM_SIDR_REQ = 0x17,
	HCA_CM_SIDR_REP = 0x18,
	HCA_CM_LAP = 0x19,
	HCA_CM_APR = 0x1a,
};

/* A MAD that has arrived. */
struct hca_gsi_mad {
	const struct hca_adapter *adapter;
	struct hca_av from;  /* the way back: port, index of our GID, the sender's GID and LID */
	struct hca_gid dgid; /* that it was sent to; zeros without GRH */
	uint32_t sqpn;
	uint16_t pkey;
	uint8_t mad[HCA_MAD_BYTES];
};

/* The low bits of an id of hca_gsi_comm_id() are the number of its process among those of the host. */
#define HCA_GSI_PROCESS_BITS 10

struct hca_gsi_ops {
	void (*receive)(void *arg, const struct hca_gsi_mad *mad);
	void (*timer)(void *arg); /* may be NULL */
	/* A process of this host is gone that exchanged messages with this one. May be NULL. */
	void (*gone)(void *arg, uint32_t process);
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

/*
 * A service that this process offers: REQ and SIDR_REQ for it come here. `addr` is the IP address
 * that it is offered at, as a GID (IPv4 mapped), or NULL for all. 0.0.0.0 is for all of IPv4, bytes
 * of HCA_GSI_ALL_IP6 for all of IPv6. -EADDRINUSE when a process of the host has that very one.
 */
#define HCA_GSI_ALL_IP6 0xff
VB_API int hca_gsi_service_add(uint64_t service_id, const uint8_t addr[16]);
VB_API int hca_gsi_service_del(uint64_t service_id, const uint8_t addr[16]);

/* Ids for messages of this process: answers that carry them come back here. Never 0. */
VB_API uint32_t hca_gsi_comm_id(void);
VB_API uint64_t hca_gsi_tid(void);

/*
 * Sends a MAD to queue pair 1 at the other end; to->port says from where. Never waits. A MAD may be
 * lost; the sender repeats it when no answer comes. -EINVAL: no such port or GID, or no route;
 * -EAGAIN: no room now.
 */
VB_API int hca_gsi_send(const struct hca_adapter *adapter, const struct hca_av *to,
			const uint8_t mad[HCA_MAD_BYTES]);

/* Whether the other end of `to` is a port of this host. */
VB_API bool hca_gsi_is_local(const struct hca_adapter *adapter, const struct hca_av *to);

enum hca_gsi_counter {
	HCA_GSI_SENT,
	HCA_GSI_RECEIVED, /* given to an agent */
	HCA_GSI_PASSED_ON,
	HCA_GSI_DROP_QKEY,
	HCA_GSI_DROP_FORM, /* length, version, no datagram, no such port */
	HCA_GSI_DROP_NO_AGENT,
	HCA_GSI_DROP_LOST, /* no room, or no memory */
	HCA_GSI_COUNTERS,
};

VB_API uint64_t hca_gsi_count(enum hca_gsi_counter which);
VB_API const char *hca_gsi_counter_name(enum hca_gsi_counter which);

struct forward;
struct peer_listener;

extern const struct peer_listener gsi_peer_listener;

/* A packet for queue pair 1, from the wire or forwarded by a process. Inside an epoch section. */
void gsi_packet(const struct forward *f, const uint8_t *data, bool is_forwarded);

#endif
