/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair's path over the wire; the QP's lock guards it. Types only. */
#ifndef HCA_QP_WIRE_H
#define HCA_QP_WIRE_H

#include <stdint.h>

#include "hca/device/work.h"
#include "roce/path.h"

struct wire_port;

struct qp_wire {
	struct wire_port *port;
	struct hca_gid dgid;
	uint8_t sgid_index;
	uint8_t tclass;
	uint8_t hop_limit;
	uint32_t gid_changes;     /* of the tables, when sgid_index was looked up */
	uint16_t sport;           /* as the address vector asks for */
	uint32_t link;            /* interface of the bonded link that packets leave by; or 0 */
	uint32_t datagrams_sent;  /* since the path was made; wire_datagram_sent() */
	uint64_t pause_ns;        /* congestion.c: the last pause between datagrams */
	uint64_t cnp_sent_ns;     /* congestion.c */
	uint64_t cnp_received_ns; /* congestion.c: the last one that had an effect */
	struct roce_path path;
};

#endif
