/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter in its host: the layout of the segment that a process shows to its peers (peer.h).
 * The fabric is joined by the first open context, and left when the process ends.
 */
#ifndef HCA_HOST_H
#define HCA_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/steer.h"
#include "fabric/fabric.h"
#include "fabric/segment.h"
#include "hca/memory/copy_server.h"
#include "hca/peers/epoch.h"
#include "hca/memory/mr.h"

#define HCA_MR_ENTRIES (1u << 24)
#define HCA_QP_GRANTS  (1u << 24)
#define HCA_GRANT_DCT  (1u << 31)

/*
 * A grant tells peers what they may do on behalf of a queue pair without asking: its word changes
 * with every change of state. Written by the owner under the QP's lock.
 */
struct hca_qp_grant {
	/* moves with every change; bit 0: requests of peer_qpn are welcome */
	_Atomic uint64_t word;
	uint32_t pdn;
	uint32_t access; /* remote rights of the QP, and HCA_GRANT_DCT */
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
	_Alignas(4096) struct epoch_area epochs;
	_Alignas(4096) struct hca_mr_entry mr[HCA_MR_ENTRIES];
	struct hca_qp_grant grant[HCA_QP_GRANTS];
	_Alignas(4096) struct copy_server copies;
};

/* Joins the fabric; once per process, and again in a forked child. */
int hca_host_join(void);

/* Our own; set once the fabric is joined. */
extern struct hca_segment *hca_segment_self;

static inline struct hca_segment *hca_host_segment(void)
{
	return hca_segment_self;
}

#endif
