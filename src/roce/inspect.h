/* SPDX-License-Identifier: BSD-2-Clause */
/* Capture and fault injection of an endpoint. One per process, shared by its endpoints; members may be NULL. */
#ifndef ROCE_INSPECT_H
#define ROCE_INSPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "roce/capture.h"
#include "roce/fault.h"
#include "roce/packet.h"

struct roce_inspect {
	struct roce_capture *capture;
	struct roce_fault *fault;
	/*
	 * Called for each captured packet: writes a comment (queue pair, work request, state) into `text`, or leaves
	 * it empty. `sender`: of the path that a packet leaves by (`out`), or NULL. Runs in the thread that sends
	 * or receives, so it must not take a lock that is held around roce_tx_add() or roce_rx_poll().
	 */
	void (*comment)(const void *sender, const struct roce_pkt *pkt, bool out, char *text,
			size_t size);
};

#endif
