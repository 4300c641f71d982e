/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection tracking: a TCP connection that the program has described, in 64 bytes of the device's
 * layout, followed packet by packet.
 */
#ifndef ETHER_ASO_CT_H
#define ETHER_ASO_CT_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/frame.h"

/* Values for the rule's register. */
enum aso_ct_result {
	ASO_CT_VALID = 0,
	ASO_CT_BAD_PACKET = 1 << 0,
	ASO_CT_STATE_CHANGE = 1 << 1,
	ASO_CT_INVALID = 1 << 6, /* not of this connection as it stands */
	ASO_CT_TRAP = 2 << 6,    /* software has to decide: a SYN on a connection */
};

/* A packet of the initiator, or of the responder. */
uint32_t aso_ct_run(uint8_t *ct, bool responder, struct ether_frame *frame);

#endif
