/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets for a trace (src/trace), which is a library of its own. */
#ifndef HCA_TRACE_H
#define HCA_TRACE_H

#include "hca/transport/hca_qp.h"

struct hca_trace_packet {
	uint32_t from, to; /* numbers of the queue pairs; 0: unknown */
	uint32_t psn, len;
	uint8_t op;       /* enum roce_opcode, with the transport */
	uint8_t syndrome; /* of an acknowledgement */
	bool out;         /* it leaves */
	bool wire;        /* between hosts, or on the wire for another reason */
	bool has_counter; /* `counter` is that of the request that the packet is of, or answers */
	uint16_t counter;
};

/* Called with the QP's lock held. */
struct hca_trace_ops {
	void (*packet)(const struct hca_qp *qp, const struct hca_trace_packet *packet);
	/* A one-sided request was carried out without packets. */
	void (*direct)(const struct hca_qp *qp, uint16_t counter, uint8_t op, uint64_t length);
};

/* Until the process ends. Before there are queue pairs. */
VB_API void hca_trace_start(const struct hca_trace_ops *ops);

#endif
