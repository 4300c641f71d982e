/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter in its host: the process segment's layout, the peers that this process is linked to,
 * and the upcalls of the fabric. Joined by the first open context, left when the process ends.
 */
#ifndef HCA_HOST_H
#define HCA_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/steer.h"
#include "fabric/fabric.h"
#include "fabric/segment.h"
#include "fabric/share.h"
#include "hca/desk.h"
#include "hca/guard.h"
#include "hca/mr.h"
#include "hca/table.h"

struct fabric_link;
struct qp;

#define HCA_MR_ENTRIES (1u << 24)
#define HCA_DOORS      (1u << 24)
#define HCA_DOOR_DCT   (1u << 31)

/*
 * A door tells peers what they may do on behalf of a queue pair without asking: its word changes
 * with every change of state. Written by the owner under the QP's lock.
 */
struct hca_door {
	/* moves with every change; bit 0: requests of peer_qpn are welcome */
	_Atomic uint64_t word;
	uint32_t pdn;
	uint32_t access; /* remote rights of the QP, and HCA_DOOR_DCT */
	union {
		struct {
			uint32_t peer_qpn;
			uint32_t first_psn; /* that the owner expected when it went to RTR */
		};
		uint64_t dc_key; /* DCT: open to any initiator that knows it */
	};
};

#define HCA_ETHER_SLOTS (ETHER_ADAPTERS * ETHER_PORTS)

struct hca_segment {
	uint8_t fabric[FABRIC_SEGMENT_RESERVED];
	struct ether_wish ether[HCA_ETHER_SLOTS]; /* what the ports ask the switch for */
	_Alignas(4096) struct hca_guard_area guards;
	_Alignas(4096) struct hca_mr_entry mr[HCA_MR_ENTRIES];
	struct hca_door door[HCA_DOORS];
	_Alignas(4096) struct hca_desk desk;
};

/* Joins the fabric; once per process, and again in a forked child. */
int hca_host_join(void);
struct hca_segment *hca_host_segment(void);
/*
 * Waits, the first time, until the link to this process itself is up, so that requests between its
 * own queue pairs never wait for a handshake. Not on the service thread.
 */
void hca_host_meet_self(void);
/* The same for another process, and until each may reach into the other's memory. False: gone. */
bool hca_host_meet(fabric_id_t id);

/* ---- peers ---- */

/* A region of a peer, mapped here. */
struct hca_mapping {
	uint32_t key;
	char *base;  /* local address of the region's first byte */
	uint64_t va; /* and its address there */
	uint64_t length;
	struct hca_peer *peer;
};

/* QPs whose acknowledgement waits until everything that has arrived is handled. */
struct hca_acks {
	struct qp *qp[16];
	unsigned int count;
};

struct hca_peer {
	struct fabric_link *link;
	struct hca_segment *segment;
	fabric_id_t id;
	struct share_view view;
	bool can_map; /* its share memfd is here */
	bool can_vm;  /* process_vm_* works on it */
	bool is_self;
	bool no_refs; /* it said that it cannot fetch from us */
	bool met;     /* it counts our guards: we may reach into its memory */
	int pid;
	pthread_mutex_t map_lock;
	struct hca_table mappings; /* by key index: struct hca_mapping */
	struct hca_acks acks;      /* receive lock held */
	unsigned int in_a_row;     /* times that frames came and none were sent; receive lock */
	/* QPs that found no room; guarded by map_lock */
	struct qp *blocked;
};

/*
 * The peer of this id when its link is up; NULL otherwise, and *wait says whether the link is being
 * made (the QPs are called when it is up). Inside a guard.
 */
struct hca_peer *hca_peer_find(fabric_id_t id, bool *wait);

/* Whoever stands in this slot now, or NULL. Inside a guard. */
struct hca_peer *hca_peer_at(unsigned int slot);

bool hca_peer_is_up(const struct hca_peer *peer);
/*
 * Before it knows of the link, the other process would not wait for us when it takes memory away,
 * though our side of the link is up. Then nobody may reach into its memory.
 */
bool hca_peer_has_met(struct hca_peer *peer);
void hca_peer_kill(struct hca_peer *peer);
/*
 * Whether an answer may still come: records lie unread, here or there, and the process lives and is
 * not stopped. An adapter would have answered meanwhile; a process may wait for a processor.
 */
bool hca_peer_is_late(const struct hca_peer *peer);
/* Stopped or dead, as far as can be seen from here. */
bool hca_peer_is_halted(const struct hca_peer *peer);
static inline struct hca_segment *hca_peer_segment(const struct hca_peer *peer)
{
	return peer->segment;
}

/* Lets every QP that waits for a link try again. */
void hca_host_wake_qps(void);
void hca_host_room(struct hca_peer *peer);
/* The process whose full link was met last: threads that poll look whether it has room again. */
extern _Atomic fabric_id_t hca_host_blocked;
void hca_host_run_qp(struct qp *qp);
/* The same for a list of QPs that found no room, taken out of wherever it was kept. Inside a guard. */
void hca_host_run_blocked(struct qp *qp);
/* Sends what is due. Inside a guard. */
void hca_host_send_acks(struct hca_acks *acks);
/* A QP goes: out of every list of waiting ones. */
void hca_host_forget_qp(struct qp *qp);

/* Around taking in on the service thread; see hca_service_turn. */
void hca_service_turn_begin(void);
void hca_service_turn_end(void);

void hca_host_for_each_peer(void (*fn)(struct hca_peer *peer, void *arg), void *arg);

/* The local address of a peer's valid entry's first byte, inside a guard; NULL: cannot be mapped. */
char *hca_peer_map(struct hca_peer *peer, const struct hca_mr_entry *entry, uint32_t key);

#endif
