/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow engine on frames: finds the rules that match and runs their actions, which deliver the
 * frame, change it or drop it.
 *
 * Threads: frames come in batches. The caller is in an epoch section (fabric/epoch.h) and holds the
 * receive lock of the process for the batch, so neither the engine nor a destination locks anything per
 * frame. Rules change under flow_lock at any time; the memory of a destroyed rule, and its reference on
 * the destination, outlast the sections that may have seen it.
 */
#ifndef ETHER_STEER_H
#define ETHER_STEER_H

#include "ether/frame.h"
#include "ether/port_types.h"

/* Matches and delivers a frame that arrived. Without a matching rule it is dropped. */
void ether_steer(struct ether_port *port, struct ether_frame *frame);

/*
 * Matches and delivers several frames, which cost less together: rules are prefetched. stop(), if
 * given, is called before each frame, and ends the batch. Returns the number of frames done.
 */
unsigned int ether_steer_many(struct ether_port *port, struct ether_frame *frames,
			      unsigned int count, bool (*stop)(void));

/*
 * Applies the rules for outgoing frames: false when the frame is dropped. It may be replaced by a
 * changed one, whose bytes stay valid until the thread's next call.
 */
bool ether_steer_out(struct ether_port *port, struct ether_frame *frame);

/*
 * Applies the rules for packets of queue pairs to the headers of one that leaves or arrives: false when it
 * is dropped.
 */
bool ether_steer_rdma(struct ether_port *port, struct ether_frame *frame, bool leaves);

#endif
