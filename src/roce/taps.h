/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What looks at, or spoils, the packets of an endpoint. One per process, shared by its endpoints;
 * all members may be NULL.
 */
#ifndef ROCE_TAPS_H
#define ROCE_TAPS_H

#include <stdbool.h>
#include <stddef.h>

#include "roce/capture.h"
#include "roce/fault.h"
#include "roce/packet.h"

struct roce_taps {
	struct roce_capture *capture;
	struct roce_fault *fault;
	/*
	 * While a capture is on: writes what is worth saying about the packet (queue pair, work
	 * request, state) into `text`. May leave it empty. Called from whatever thread sends or
	 * receives, so it must not take a lock that is held around roce_tx_add or roce_rx_poll.
	 */
	void (*comment)(void *arg, const struct roce_pkt *pkt, bool out, char *text, size_t size);
	void *arg;
};

#endif
